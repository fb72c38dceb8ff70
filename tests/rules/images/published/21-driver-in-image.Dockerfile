FROM ubuntu:22.04
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=all
RUN apt-get update && apt-get install -y --no-install-recommends \
      nvidia-driver-535 nvidia-utils-535 \
      python3-pip \
 && rm -rf /var/lib/apt/lists/*
RUN pip3 install --no-cache-dir torch==2.5.1
