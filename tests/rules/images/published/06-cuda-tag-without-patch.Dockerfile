FROM nvidia/cuda:12.1-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3 python3-pip git
RUN pip3 install --no-cache-dir torch==2.4.1
