"""The commands of envdoctor, one module each, loaded when called."""
