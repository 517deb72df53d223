"""The tutorials: notebooks that are run, kept with what they print, and shown as pages.

``python docs/generators/notebooks.py`` runs all of them anew and keeps what they print; tests run
them, too.
"""

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "tutorials"


def found() -> Iterator[tuple[str, str, Path]]:
    """Yield the title, the place among the pages and the file of each, in the order of names."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        title = "".join(cells[0]["source"]).splitlines()[0].removeprefix("# ")
        yield title, f"tutorials/{path.stem}.md", path


def to_markdown(path: Path) -> str:
    """Return a notebook as a page: its text, its code and what that printed."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        printed = "".join("".join(out.get("text", ())) for out in cell["outputs"])
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
    name = path.name
    parts.append(f"*This page is a notebook: `docs/tutorials/{name}`. Tests run it.*")
    return "\n\n".join(parts) + "\n"


def run_cell(source: str, names: dict[str, Any]) -> str:
    """Run a cell; return what it prints, and what its last line is if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            if value is not None:
                print(value)
    return printed.getvalue()


def run(path: Path, *, keep: bool) -> list[str]:
    """Run a notebook in an empty folder; return what each cell of code printed.

    Args:
        path: The notebook.
        keep: Whether to write that into the notebook.
    """
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, cell in enumerate(c for c in notebook["cells"] if c["cell_type"] == "code"):
                text = run_cell("".join(cell["source"]), names)
                printed.append(text)
                stream = {"output_type": "stream", "name": "stdout",
                          "text": text.splitlines(keepends=True)}  # fmt: skip
                cell |= {"outputs": [stream] if text else [], "execution_count": number + 1}
        finally:
            os.chdir(before)
    if keep:
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
    return printed


if __name__ == "__main__":
    for _, _, one in found():
        if not sys.argv[1:] or one.stem in sys.argv[1:]:
            print(f"== {one.name}")
            print("".join(run(one, keep=True)))
