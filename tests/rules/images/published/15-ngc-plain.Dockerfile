FROM nvcr.io/nvidia/pytorch:24.10-py3
WORKDIR /workspace
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY . .
