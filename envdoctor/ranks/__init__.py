"""The processes of one distributed job, judged together before it starts."""
