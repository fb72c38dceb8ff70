FROM pytorch/pytorch:latest
RUN pip install datasets wandb
COPY . /app
