"""Reimann and Schwung, Neural Logic Rule Layers."""
