FROM python:3.10-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install --no-cache-dir "torch==2.1.2+cu118"
CMD ["python3", "-m", "finetune"]
