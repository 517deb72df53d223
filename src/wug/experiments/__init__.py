"""Published experiments, one package per paper."""
