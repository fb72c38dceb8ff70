# A first try: Python's image and whatever torch the index has today.
FROM python:3.12-slim
WORKDIR /app
COPY . .
RUN pip install torch torchvision transformers
CMD ["python", "train.py"]
