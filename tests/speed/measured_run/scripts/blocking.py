"""A healthy loop with a switch for finding faults left on, deep in the script where no shell shows it."""

# mypy: ignore-errors
import os

os.environ["CUDA_LAUNCH_BLOCKING"] = "1"

import healthy

if __name__ == "__main__":
    healthy.main()
