FROM python:3.11-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY requirements.txt /tmp/
RUN pip install --no-cache-dir torch==2.3.1 transformers==4.41.2 accelerate==0.30.1
COPY . /app
