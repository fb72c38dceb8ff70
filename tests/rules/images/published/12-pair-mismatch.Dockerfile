FROM python:3.11-slim-bookworm
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install --no-cache-dir \
        torch==2.4.0 \
        torchvision==0.18.1 \
        torchaudio==2.4.0
