FROM pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime
ENV CUDA_VISIBLE_DEVICES 0
COPY . /app
