FROM nvidia/cuda:12.1.1-cudnn8-devel-ubuntu20.04
SHELL ["/bin/bash", "-c"]
RUN apt-get update \
    && apt-get install --no-install-recommends -y git python3.9 python3-pip \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
RUN python3 -m pip install --no-cache-dir torch==2.3.1+cu121 -f https://download.pytorch.org/whl/torch_stable.html
RUN git clone https://github.com/NVIDIA/apex && cd apex \
    && python3 -m pip install -v --no-cache-dir .
