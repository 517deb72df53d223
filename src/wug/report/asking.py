"""A box that asks trained networks in the page itself: a router, and a rival that is wrong outside.

The page runs the networks (assets/networks.js) on what a person types; here is chosen which ones,
and gathered what it needs to read a problem and to check its answer.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from wug.records import NetworkFile, kept_accuracy
from wug.report.markup import Markup, json_block, slug, tag
from wug.report.run_source import RunSource
from wug.report.sources import Sources, unit_page

# What the page can read and solve (assets/asking.js), in the order of its buttons.
TASKS = ("ctl", "simple_arithmetic")
ROUTER, RIVALS = "ndr", ("lstm",)
# More than the page can run.
REFUSED = ("num_experts", "biases", "bidirectional")


class Choice(NamedTuple):
    """A router for one task, and its rivals on the same problems."""

    run: RunSource
    router: NetworkFile
    rivals: list[NetworkFile]
    problem: Mapping[str, Any]


def choices(sources: Sources) -> list[Choice]:
    """Return the best router of each task, one with a rival before one without."""
    found: dict[str, list[Choice]] = {}
    for run in sources.runs:
        for router in run.networks:
            problem = problem_of(run, router)
            if router.about["model"] == ROUTER and problem is not None and usable(router):
                rivals = [
                    other
                    for other in run.networks
                    if other.about["model"] in RIVALS
                    and usable(other)
                    and problem_of(run, other) == problem
                ]
                choice = Choice(run, router, rivals, problem)
                found.setdefault(problem["task"], []).append(choice)

    def merit(choice: Choice) -> tuple[bool, float]:
        return bool(choice.rivals), kept_accuracy(choice.router.about) or 0.0

    return [max(found[task], key=merit) for task in TASKS if task in found]


def usable(network: NetworkFile) -> bool:
    """Say whether the page can run a network."""
    options = network.about.get("model_options")
    known = isinstance(options, Mapping) and not any(options.get(name) for name in REFUSED)
    return known and options.get("num_layers", 1) == 1  # type: ignore[union-attr]


def problem_of(run: RunSource, network: NetworkFile) -> Mapping[str, Any] | None:
    """Return how the problems of a network are written; None if nobody knows."""
    labels = network.about.get("labels")
    column = labels.get(run.column_field) if isinstance(labels, Mapping) else None
    found: Mapping[str, Any] | None = run.catalog["problems"].get(str(column))
    if (
        found is None
        or found["task"] not in TASKS
        or not {"train", "test"} <= found["levels"].keys()
    ):
        return None
    return None if found["task"] == "ctl" and not found["tables"] else found


def asking(sources: Sources) -> tuple[Markup, dict[str, Callable[[], str]]] | None:
    """Return the box and the files that it asks for; None without a router that a page can run."""
    found = choices(sources)
    if not found:
        return None
    scripts: dict[str, Callable[[], str]] = {}
    kinds = []
    for run, router, rivals, problem in found:
        networks = []
        for network in (router, *rivals):
            name = slug(f"{run.experiment}~{run.label}~{network.name}".replace("~", "-"))
            scripts[f"networks/{name}.js"] = partial(script, name, network.path)
            entry = sources.entries.get(network.about["model"], {})
            networks.append(
                {
                    "name": name,
                    "title": str(entry.get("name") or network.about["model"]),
                    "page": unit_page(network.about["model"]),
                    "accuracy": kept_accuracy(network.about),
                    "steps": steps_of(run, network),
                }
            )
        kinds.append({**problem, "networks": networks, "first": first_problems(run, router)})
    box = tag(
        "figure", tag("div", class_="asked"), json_block({"kinds": kinds}), class_="asking",
        aria_label="Ask a trained network",
    )  # fmt: skip
    return box, scripts


def steps_of(run: RunSource, network: NetworkFile) -> int | None:
    """Return how many steps a network was trained for; None if no record says it."""
    key = {**network.about.get("labels", {}), "seed": network.about.get("seed")}
    for record in run.records:
        steps = record.outcome.get("steps")
        if record.key == key and isinstance(steps, int):
            return steps
    return None


def first_problems(run: RunSource, router: NetworkFile) -> list[str]:
    """Return problems of the test that the router was traced on, to begin with."""
    same = ("labels", "seed")
    return [
        str(trace.about.get("problem", ""))
        for trace in run.traces_of("routing")
        if all(trace.about.get(name) == router.about.get(name) for name in same)
    ]


def script(name: str, path: Path) -> str:
    """Return a network as code that a page from the disk may load, too."""
    data = b64encode(path.read_bytes()).decode()
    return f'window.wugNetworks.keep("{name}", "{data}");\n'
