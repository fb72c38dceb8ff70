"""The judgement of speed: reports of the trainer in, verdicts out. Nothing here trains, and nothing here prints."""
