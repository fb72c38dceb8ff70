FROM python:3.11-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install --no-cache-dir torch==2.8.0 --index-url https://download.pytorch.org/whl/cu118
