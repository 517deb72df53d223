"""Scripts of benchmarks/ import each other as files of one folder."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
