FROM ubuntu:22.04
RUN apt-get update && apt-get install -y \
        python3-pip \
        cuda-compat-12-4 \
    && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir torch==2.4.1
