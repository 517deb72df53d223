"""The writing player: what a network writes for a source, what it looks at, and where it errs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.records import Trace
from wug.report.catalog import UnfitError, texts
from wug.report.markup import Markup, json_block, tag
from wug.report.page import Page, PageKind
from wug.report.run_source import RunSource
from wug.report.sources import Sources
from wug.report.trace_pages import chooser, trace_pages

KIND = "writing"
MOST_TOKENS, MOST_LAYERS, MOST_EXAMPLES = 600, 32, 100
OUTCOMES = ("right", "stopped early", "stopped late", "wrote wrongly")

LEAD = (
    "A network reads a sequence and writes another, token by token. Choose a token that it has "
    "written to see what it looked at (blue: the darker, the more). Where an answer is wrong, the "
    "first wrong token says how: the network stopped too early or too late, or it wrote another "
    "token than the right one. Its weights are those that the run selected, which need not "
    "be the last ones that a table may be about."
)


def make(sources: Sources) -> Iterator[Page]:
    """Return the pages of all runs that have traces of this kind."""
    return trace_pages(sources, KIND, LEAD, body)


def body(run: RunSource) -> Markup:
    """Return the player with a choice of examples."""
    groups: dict[str, list[Markup]] = {}
    figures: list[Markup] = []
    left_out = []
    for trace in run.traces_of(KIND):
        for number, example in enumerate(listed(trace)):
            name = f"{trace.name}-{number}"
            try:
                data, notes = writing_data(example, trace.arrays.get(f"attention-{number}"))
            except UnfitError as error:
                left_out.append(f"{name}: {error}")
                continue
            figures.append(figure(run, name, trace, example, data, notes, hidden=bool(figures)))
            option = tag("option", option_text(example, data), value=name)
            groups.setdefault(run.name_of(trace), []).append(option)
    return chooser(run, "Example", groups, figures, left_out)


def listed(trace: Trace) -> list[Mapping[str, Any]]:
    """Return the examples of a trace; what is none is left out."""
    given = trace.about.get("examples")
    examples = given if isinstance(given, list) else []
    return [one for one in examples if isinstance(one, Mapping)][:MOST_EXAMPLES]


def figure(
    run: RunSource, name: str, trace: Trace, example: Mapping[str, Any], data: Mapping[str, Any],
    notes: list[str], *, hidden: bool,
) -> Markup:  # fmt: skip
    """Return the place of one player, and its data."""
    kind, group = trace.about.get("groups"), example.get("group")
    about = f"{run.name_of(trace)}, {kind} {group}" if group else run.name_of(trace)
    return tag(
        "figure",
        tag("figcaption", tag("strong", " ".join(data["source"][1:-1])), " ", about),
        tag("div", class_="player"),
        json_block(data),
        [tag("p", note, class_="soft") for note in notes],
        class_="writing",
        data_name=name,
        hidden=hidden,
    )


def option_text(example: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return an example for the choice: its group, its source, and whether it is right."""
    sign = {"right": "✓", None: ""}.get(data["outcome"], f"✕ {data['outcome']}")
    source = " ".join(data["source"][1:-1])
    return f"{example.get('group') or ''} · {source} {sign}".removeprefix(" · ")


def writing_data(
    example: Mapping[str, Any], attention: NDArray[Any] | None
) -> tuple[dict[str, Any], list[str]]:
    """Return what writing.js draws, as its head describes it, and remarks for people.

    Raises:
        UnfitError: The example is not of the form that can be drawn.
    """
    notes: list[str] = []
    source, written = (texts(name, example.get(name)) for name in ("source", "written"))
    target = None if example.get("target") is None else texts("target", example["target"])
    for tokens in (source, written, target or []):
        if len(tokens) > MOST_TOKENS:
            raise UnfitError(f"a sequence may have {MOST_TOKENS} tokens; got {len(tokens)}")
    outcome, first = example.get("outcome"), example.get("first_error")
    weights = None
    if attention is not None:
        fits = attention.ndim == 3 and attention.shape[1:] == (len(written), len(source))
        if not fits or attention.dtype.kind != "f" or attention.shape[0] > MOST_LAYERS:
            shape = f"(layer, {len(written)}, {len(source)})"
            raise UnfitError(f"attention must be numbers of shape {shape}; it is {attention.shape}")
        values = attention.astype(np.float64)
        if missing := int((~np.isfinite(values)).sum()):
            notes.append(f"{missing} values are no numbers and are drawn as 0.")
        weights = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0).clip(0, 1).round(3)
    return {
        "source": source,
        "written": written,
        "target": target,
        "outcome": outcome if outcome in OUTCOMES else None,
        "first_error": first if type(first) is int and first >= 0 else None,
        "attention": None if weights is None else weights.tolist(),
    }, notes


PAGE = PageKind(
    name="Writing", start="writing.html", place=55, made_from=frozenset({"trace"}), make=make
)
