FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-runtime
COPY . /app
WORKDIR /app
