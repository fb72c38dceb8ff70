FROM nvidia/cuda
RUN nvidia-smi
