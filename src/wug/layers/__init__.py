"""Blocks with attention, routing or memory."""
