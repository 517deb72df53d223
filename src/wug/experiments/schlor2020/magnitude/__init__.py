"""One layer, one operation, numbers of growing magnitude: experiment 2."""
