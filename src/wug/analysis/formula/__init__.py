"""From a network of arithmetic units to a formula: reading, snapping, and a certificate."""

from wug.analysis.formula.certificate import Certificate, certify
from wug.analysis.formula.reading import Formula, read_formula
from wug.analysis.formula.snapping import Snapped, snap

__all__ = ["Certificate", "Formula", "Snapped", "certify", "read_formula", "snap"]
