"""Answers of the model, for rejection fine-tuning: prompts, sampling, judging, and what is kept."""
