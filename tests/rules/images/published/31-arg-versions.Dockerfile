ARG CUDA_VERSION=12.4.1
ARG UBUNTU=22.04
FROM nvidia/cuda:${CUDA_VERSION}-cudnn-devel-ubuntu${UBUNTU}
ARG TORCH=2.6.0
ARG TORCH_CUDA=cu124
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update && apt-get install -y python3-pip python3-dev && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir torch==${TORCH} --extra-index-url https://download.pytorch.org/whl/${TORCH_CUDA}
RUN pip install --no-cache-dir flash-attn==2.7.4.post1 --no-build-isolation
