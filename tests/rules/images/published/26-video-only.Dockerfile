FROM nvidia/cuda:12.6.3-runtime-ubuntu24.04
ENV NVIDIA_DRIVER_CAPABILITIES=video,utility
RUN apt-get update && apt-get install -y python3-venv && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /venv && /venv/bin/pip install --no-cache-dir torch==2.7.1
