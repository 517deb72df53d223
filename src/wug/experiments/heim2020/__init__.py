"""Neural Power Units (heim2020)."""
