"""Training steps on CUDA devices that are not there: `pytest -m cuda`.

A child Python with the CUDA build of torch believes in a device (`device`), runs the trainer on tensors without content
(torch's FakeTensorMode), and tells what it did (`watch`, `steps`). `adapter` alone knows the trainer's modules.
"""
