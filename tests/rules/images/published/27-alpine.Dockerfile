FROM python:3.12-alpine
RUN pip install --no-cache-dir torch==2.7.1
