FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime
RUN pip install --no-cache-dir flash-attn==2.7.4.post1 --no-build-isolation
