# syntax=docker/dockerfile:1
ARG PYTHON=3.12
FROM ghcr.io/astral-sh/uv:0.12.1 AS uv
FROM python:${PYTHON} AS build
COPY --from=uv /uv /usr/local/bin/uv
RUN uv venv /opt/venv && uv pip install --python /opt/venv torch==2.14.1
FROM python:${PYTHON}-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=build /opt/venv /opt/venv
COPY . /app
USER nobody
