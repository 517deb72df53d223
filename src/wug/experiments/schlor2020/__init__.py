"""iNALU: Improved Neural Arithmetic Logic Unit (schlor2020)."""
