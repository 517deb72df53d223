"""What mkdocstrings reads: a docstring's "Example:" is code that was run, and is shown as such."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(\s*)Example:$", re.MULTILINE)


class ShownExamples(griffe.Extension):
    """Call sections as the parser of Google's style knows them."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section of an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(r"\1Examples:", obj.docstring.value)
