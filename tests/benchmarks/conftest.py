"""What these tests share with the trainer's own."""

from tests.trainer.conftest import tiny

__all__ = ["tiny"]
