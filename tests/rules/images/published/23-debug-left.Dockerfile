FROM pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime
ENV CUDA_LAUNCH_BLOCKING=1 \
    PYTHONUNBUFFERED=1 \
    NCCL_P2P_DISABLE=1
COPY . /app
