"""LaTeX to MathML while the site is built; browsers draw it without scripts or web fonts."""

import re

from latex2mathml.converter import convert

FUNCTION = re.compile(r"<(mi|mo)>(exp|ln|cos|tanh|min|max)</\1>")
OPENING = re.compile(r"<mo[^>]*>(\(|&#x00028;)")
THIN = "0.167em"


def equation(latex: str) -> str:
    """Return a block of MathML, one line per statement: lines are cut at quads outside braces."""
    lines = (spaced(convert(part, display="block")) for part in statements(latex))
    return f'<div class="equation">{"".join(lines)}</div>'


def statements(latex: str) -> list[str]:
    """Cut at \\quad and \\qquad; the comma before them goes."""
    depth, parts = 0, [""]
    for token in re.split(r"(\\q?quad(?![a-zA-Z])|[{}])", latex):
        depth += {"{": 1, "}": -1}.get(token, 0)
        if token in (r"\quad", r"\qquad") and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip().removesuffix(",") for part in parts]


def spaced(mathml: str) -> str:
    """Set the names of functions apart from their neighbours, but not from their bracket."""

    def operator(match: re.Match[str]) -> str:
        after = "0" if OPENING.match(mathml, match.end()) else THIN
        return f'<mo lspace="{THIN}" rspace="{after}" movablelimits="false">{match[2]}</mo>'

    return FUNCTION.sub(operator, mathml)
