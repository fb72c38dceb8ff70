FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip && \
    rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir torch==2.8.0 transformers==4.55.0
COPY train.py /app/
CMD ["python3", "/app/train.py"]
