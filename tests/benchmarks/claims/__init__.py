"""What write-ups claim of training speed, beside what each claim comes to."""
