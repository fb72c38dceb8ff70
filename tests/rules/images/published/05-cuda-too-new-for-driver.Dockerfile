FROM pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime
WORKDIR /workspace
RUN pip install --no-cache-dir peft==0.18.0
COPY . .
