FROM python:3.11-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install --no-cache-dir torch==2.4.0 xformers==0.0.28.post3
