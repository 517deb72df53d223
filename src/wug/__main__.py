"""python -m wug."""

import sys

from wug.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
