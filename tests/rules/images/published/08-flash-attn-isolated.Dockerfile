FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel
RUN apt-get update && apt-get install -y --no-install-recommends git ninja-build && \
    rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir -U pip setuptools wheel && \
    pip install --no-cache-dir flash-attn==2.7.4.post1
WORKDIR /workspace
