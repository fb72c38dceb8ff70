# The good shape of the same: pinned, cached outside the image, code last.
FROM python:3.12-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /app
COPY requirements.txt .
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install torch==2.14.1 -r requirements.txt
COPY . .
USER 1000
CMD ["python", "train.py"]
