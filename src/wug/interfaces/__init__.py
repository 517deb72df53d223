"""The shape of a problem: batch, loss, measures, splits, selection, and how the lab asks."""
