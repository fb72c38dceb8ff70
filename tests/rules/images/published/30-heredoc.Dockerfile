# syntax=docker/dockerfile:1
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
RUN <<EOT
set -eux
apt-get update
apt-get install -y git
pip install --no-cache-dir torchvision==0.22.1
EOT
COPY <<EOF /etc/motd
pip install torch
EOF
WORKDIR /workspace
