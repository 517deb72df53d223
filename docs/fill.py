"""Write the parts of the pages that are made, so that they are whole in the repository, too.

python docs/fill.py           writes them
python docs/fill.py --check   says which pages are out of date
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

from generators.blocks import filled  # noqa: E402


def main() -> int:
    """Fill all pages; with --check change none, and return 1 if one is out of date."""
    stale = []
    for path in sorted([*FOLDER.glob("*.md"), *FOLDER.glob("experiments/*.md")]):
        text = path.read_text(encoding="utf-8")
        whole = filled(text, path.name)
        if whole != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(whole, encoding="utf-8")
    print("out of date:" if "--check" in sys.argv else "written:", ", ".join(stale) or "none")
    return bool(stale) and "--check" in sys.argv


if __name__ == "__main__":
    sys.exit(main())
