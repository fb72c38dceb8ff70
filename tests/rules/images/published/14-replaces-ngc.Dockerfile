FROM nvcr.io/nvidia/pytorch:24.10-py3
WORKDIR /workspace
RUN pip install --no-cache-dir torch==2.5.1 torchvision==0.20.1
COPY . .
