FROM python:3.11-slim
ENV NVIDIA_VISIBLE_DEVICES=all
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install --no-cache-dir torch==2.5.1 transformers==4.46.0
RUN pip install --no-cache-dir torch==2.3.1 accelerate==1.0.0
