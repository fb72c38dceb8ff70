"""Programs that look at an environment and at the machine, each in a process of its own.

``environment`` runs under the examined environment's Python (3.8 or later), ``machine`` under ours; both use the
standard library only. ``torch_state`` imports torch, ``gpu`` asks NVML, ``cuinit`` starts CUDA. The doctor imports none
of them: what they may break is their own process.
"""
