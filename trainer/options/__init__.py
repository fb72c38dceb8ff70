"""Every option of the trainer in groups, each a frozen class whose docstring is the group's title in `--help`."""
