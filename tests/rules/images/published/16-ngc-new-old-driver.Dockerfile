FROM nvcr.io/nvidia/pytorch:25.09-py3
RUN pip install --no-cache-dir --no-deps trl==0.24.0
