FROM alpine:3.20
RUN apk add python3 py3-pip && pip install torch
