FROM pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime
COPY requirements.txt /tmp/
RUN pip install --no-cache-dir -r /tmp/requirements.txt
RUN python -c "import torch; assert torch.cuda.is_available(), 'no GPU'"
COPY src /app/src
