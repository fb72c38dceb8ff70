FROM pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime
ENV HF_HOME=/cache/huggingface
VOLUME ["/cache", "/checkpoints"]
COPY . /app
