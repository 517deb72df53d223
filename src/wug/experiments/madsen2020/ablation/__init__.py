"""NMU without its penalty or its clamp: figure 7."""
