"""The one way to start something under the target's flags."""
