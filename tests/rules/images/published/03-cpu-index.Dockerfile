FROM nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip \
    && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir --break-system-packages \
    torch==2.14.1 \
    --index-url https://download.pytorch.org/whl/cpu
COPY train.py /app/
