FROM pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime
RUN useradd --create-home trainer && mkdir /checkpoints && chown trainer /checkpoints
VOLUME /checkpoints
COPY . /app
USER trainer
