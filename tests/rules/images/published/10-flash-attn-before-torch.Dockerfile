FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN apt-get update \
 && apt-get install -y python3-dev python3-pip ninja-build \
 && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir packaging wheel
RUN pip install --no-cache-dir flash-attn==2.6.3 --no-build-isolation
RUN pip install --no-cache-dir torch==2.4.1 --index-url https://download.pytorch.org/whl/cu124
