"""The traces of a run's networks, for the pages of the report.

A sequence training keeps its network in RUN/models. Each is run on a few of the hardest test
problems, or on held-out text, and what happened inside goes to RUN/traces.
"""

from __future__ import annotations

from collections.abc import Iterator
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.analysis.accuracy import answers, function_pairs
from wug.analysis.active_channels import active_channels
from wug.analysis.experts import expert_use
from wug.analysis.memory import memory_record
from wug.analysis.routing import routing_record
from wug.analysis.running_value import running_record
from wug.analysis.symbols import compare_symbols, compatibility
from wug.analysis.writing import writing_record
from wug.core.errors import UserError
from wug.functional.output import Output
from wug.interfaces.transduction import TRANSDUCTION
from wug.records import Json, write_trace
from wug.records.traces import trace_path
from wug.sources.pairs import PairSet, PairTask
from wug.sources.sequence_task import SequenceTask
from wug.sources.step_batch import StepBatch
from wug.sources.text_task import TextTask
from wug.tasks.memory.babi import Babi
from wug.tasks.perception.digit_sequences import DigitSequences
from wug.tasks.systematicity.ctlpp import CTLpp
from wug.training.kept_networks import load, read_about

Arrays = dict[str, NDArray[Any]]
About = dict[str, Json]

NUM_PROBLEMS = 3
# Among how many of the shortest problems of the highest level right and wrong ones are looked for.
NUM_TRIED = 200
# Of held-out text, to see which experts a language model uses.
NUM_TOKENS = 20_000
# Of sequences that are written: how many groups are shown, how many examples of each are tried at
# once, and in all where the first ones are all right or all wrong.
MOST_GROUPS, TRIED_AT_ONCE, MOST_TRIED = 21, 32, 256
# Problems of one size may have many parts: of so many, the shortest can be looked at best.
NUM_DRAWN = 8
# Tasks of bAbI of which a story is shown: one fact, two, two arguments, yes or no, lists and
# deduction; and how many steps of it, if it has several questions.
TOLD_TASKS, MOST_TOLD = (1, 2, 4, 6, 8, 15), 64
# Pictures of a sequence that is shown, and how many sequences a right and a wrong one is among.
NUM_PICTURES, NUM_SEQUENCES = 10, 50


def telling_problems(network: nn.Module, task: SequenceTask) -> list[list[int]]:
    """Return a few short test problems of the highest level, right and wrong ones if both exist."""
    examples = task.examples("test")
    hardest = examples[examples.levels == examples.levels.max()]
    tried = hardest[hardest.lengths.argsort(stable=True)[:NUM_TRIED]]
    right = answers(network, tried) == tried.labels
    good, bad = (found.nonzero()[:, 0].tolist() for found in (right, ~right))
    chosen = [*good[: NUM_PROBLEMS - 1], *bad[:1], *good[NUM_PROBLEMS - 1 :], *bad[1:]]
    return [tried.tokens[place, : tried.lengths[place]].tolist() for place in chosen[:NUM_PROBLEMS]]


def routing_traces(network: nn.Module, task: Any) -> Iterator[tuple[str, Arrays, About]]:
    """Yield name, arrays and description of some problems; none for a network without attention."""
    if not hasattr(network, "trace") or not isinstance(task, SequenceTask):
        return
    for number, tokens in enumerate(telling_problems(network, task), 1):
        try:
            arrays, about = routing_record(network, task, tokens)
        except UserError:  # a trace without attention
            return
        small = {
            name: values.astype(np.float16) if values.dtype == np.float32 else values
            for name, values in arrays.items()
        }
        yield f"routing-{number}", small, {"kind": "routing", **about}


def symbol_traces(network: nn.Module, task: Any) -> Iterator[tuple[str, Arrays, About]]:
    """Yield how alike the functions of CTL++ write each symbol, and which clusters fit together."""
    if not isinstance(task, CTLpp):
        return
    found = compare_symbols(network, task)
    right = function_pairs(network, task)
    num_symbols, num_clusters = len(found.clusters), int(found.clusters.max()) + 1
    shares = np.full((num_symbols, num_clusters, len(task.groups)), np.nan, np.float32)
    for symbol, clusters in enumerate(found.clusters):
        table = compatibility(right[..., symbol], clusters, found.groups)
        shares[symbol, : len(table)] = table
    arrays: Arrays = {
        "similarities": found.similarities.astype(np.float16),
        "clusters": found.clusters.astype(np.uint8),
        "groups": found.groups.astype(np.uint8),
        "agreement": found.agreement.astype(np.float32),
        "compatibility": shares,
    }
    about: About = {
        "kind": "symbols",
        "symbols": list(task.tokens[:num_symbols]),
        "functions": list(task.tokens[num_symbols:]),
        "group_names": list(task.groups),
    }
    yield "symbols", arrays, about


def expert_traces(network: nn.Module, task: Any) -> Iterator[tuple[str, Arrays, About]]:
    """Yield how a language model uses its experts, and how many hidden units are active."""
    if not isinstance(task, TextTask):
        return
    try:
        active = active_channels(network, task, num_tokens=NUM_TOKENS)
    except UserError:  # a memory of keys and values instead of hidden units
        return
    arrays: Arrays = {
        "active": active.mean.astype(np.float32),
        "active_deviation": active.deviation.astype(np.float32),
        "units": active.total.astype(np.float32),
    }
    about: About = {"kind": "experts", "layers": list(active.layers)}
    if any(hasattr(part, "num_experts") for part in network.modules()):
        use = expert_use(network, task, num_tokens=NUM_TOKENS)
        arrays |= {
            "weights": use.weights.astype(np.float32),
            "choices": use.choices.astype(np.float32),
            "together": use.together.astype(np.float32),
            "repeats": use.repeats.astype(np.float32),
        }
        about |= {"numbers": dict(use.numbers)}
    yield "experts", arrays, about


def memory_traces(network: nn.Module, task: Any) -> Iterator[tuple[str, Arrays, About]]:
    """Yield what a network did with its memory on a largest problem of training, and on a larger.

    Nothing is yielded for a network without links between cells.
    """
    if isinstance(task, Babi):
        yield from story_traces(network, task)
    if getattr(task, "interface", "") != "steps" or not hasattr(task, "levels"):
        return
    for number, split in enumerate(("validation", "test"), 1):
        level = task.levels(split)[-1 if split == "validation" else 0]
        drawn = [
            task.batch(split, seed=1, step=step, size=1, level=level) for step in range(NUM_DRAWN)
        ]
        batch = min(drawn, key=lambda one: one.inputs.shape[1])
        try:
            arrays, about = memory_record(network, batch)
        except UserError:  # no such memory
            return
        small = {name: values.astype(np.float16) for name, values in arrays.items()}
        described: About = {"kind": "memory", "split": split, "level": level, **about}
        yield f"memory-{number}", small, described


def first_answers(batch: StepBatch) -> StepBatch:
    """Return the first steps of a sequence: up to an answer, and few enough to show all links."""
    ends = [step + 1 for step, asked in enumerate(batch.asked[0].tolist()) if asked]
    end = max((end for end in ends if end <= MOST_TOLD), default=ends[0])
    inputs, targets, asked = (part[:, :end] for part in batch[:3])
    return StepBatch(inputs, targets, asked, batch.level)


def story_traces(network: nn.Module, task: Babi) -> Iterator[tuple[str, Arrays, About]]:
    """Yield what a network did with its memory on the shortest story of some tasks of the test."""
    present = sorted({story.task for story in task.stories("test")})
    for number in [number for number in TOLD_TASKS if number in present] or present[:1]:
        batch = first_answers(task.shortest(number))
        try:
            arrays, about = memory_record(network, batch)
        except UserError:  # no such memory
            return
        with torch.no_grad():
            answers = Output.of(network(batch.inputs)).answer[0].argmax(-1)
        small = {name: values.astype(np.float16) for name, values in arrays.items()}
        asked = batch.asked[0].tolist()
        due, said = (
            [word if now else "" for word, now in zip(task.spell(tokens), asked, strict=True)]
            for tokens in (batch.targets[0], answers)
        )
        words: list[Json] = list(task.spell(batch.inputs[0]))
        told: About = {"words": words, "due": list(due), "said": list(said)}
        described: About = {"kind": "memory", "split": "test", "group": f"{task.kinds} {number}"}
        yield f"memory-{number}", small, {**described, **told, **about}


def digit_traces(network: nn.Module, task: Any) -> Iterator[tuple[str, Arrays, About]]:
    """Yield a sequence of test pictures that a network reads well, and one that it does not."""
    if not isinstance(task, DigitSequences) or not hasattr(network, "reader"):
        return
    places = task.places("test")[: NUM_PICTURES * NUM_SEQUENCES].view(-1, NUM_PICTURES)
    batch, digits = task.sequences("test", places), task.digits("test", places)
    with torch.no_grad():
        last = Output.of(network(batch["x"])).answer[:, -1]
    order = (last - batch["y"][:, -1]).abs().sum(-1).argsort()
    for number, place in enumerate((int(order[0]), int(order[-1])), 1):
        arrays, about = running_record(network, batch["x"][place], digits[place], batch["y"][place])
        yield f"digits-{number}", arrays, {"kind": "digits", **about}


def telling_pairs(network: nn.Module, task: PairTask) -> list[tuple[PairSet, str]]:
    """Return a right and a wrong example of each group of the test, where there are both.

    Of more groups than `MOST_GROUPS` some are taken, evenly spaced. Of each the shortest examples
    are looked at, and if these are all right or all wrong, others of all lengths.
    """
    examples = task.examples("test")
    groups = np.unique(np.linspace(0, len(examples.group_names) - 1, MOST_GROUPS).round())
    chosen = []
    for group in groups.astype(int).tolist():
        mine = examples[examples.groups == group]
        found: dict[bool, PairSet] = {}
        for places in tried_places(mine.lengths.argsort(stable=True)):
            tried = mine[places]
            with torch.no_grad():
                right = TRANSDUCTION.each(task, network, tried.to_batch())["accuracy"]
            for place, is_right in enumerate(right.tolist()):
                found.setdefault(is_right, tried[place : place + 1])
            if len(found) == 2:
                break
        name = examples.group_names[group]
        chosen += [(found[kind], name) for kind in (True, False) if kind in found]
    return chosen


def tried_places(order: Tensor) -> Iterator[Tensor]:
    """Yield what is tried of a group at once: the first places, then others, evenly spaced.

    Args:
        order: All places, the best to show first.

    Example:
        >>> [len(part) for part in tried_places(torch.arange(70))]
        [32, 32, 6]
        >>> [int(part[0]) for part in tried_places(torch.arange(1_032))][:3]
        [0, 32, 175]
    """
    first, rest = order[:TRIED_AT_ONCE], order[TRIED_AT_ONCE:]
    if len(first):
        yield first
    most = min(len(rest), MOST_TRIED - TRIED_AT_ONCE)
    if most:
        spaced = rest[torch.linspace(0, len(rest) - 1, most).round().long()]
        yield from spaced.split(TRIED_AT_ONCE)


def writing_traces(network: nn.Module, task: PairTask) -> Iterator[tuple[str, Arrays, About]]:
    """Yield how a network writes some answers, right and wrong ones, all in one trace."""
    if task.interface != "transduction":
        return
    arrays: Arrays = {}
    examples: list[Json] = []
    for pair, group in telling_pairs(network, task):
        source = pair.source[0, : int(pair.source_lengths[0])].tolist()
        target = pair.target[0, : int(pair.target_lengths[0])].tolist()
        found, about = writing_record(network, task, source, target)
        if "attention" in found:
            arrays[f"attention-{len(examples)}"] = found["attention"].astype(np.float16)
        examples.append({**about, "group": group})
    yield "writing", arrays, {"kind": "writing", "groups": task.group, "examples": examples}


def write_traces(folder: Path | str) -> tuple[list[Path], list[str]]:
    """Write the traces of every kept network that has none yet.

    Args:
        folder: A run folder.

    Returns:
        The new files, and what could not be traced and why, such as a network of a class that is
        not registered.

    Raises:
        StorageError: The disk refuses.
    """
    folder = Path(folder)
    written, problems = [], []
    for path in sorted(folder.glob("models/[!.]*.safetensors")):
        if is_traced(folder, path):
            continue
        try:
            network, task = load(path)
            if task is None:
                continue
            network_about = read_about(path)
            made = [
                trace
                for traces in (routing_traces, symbol_traces, expert_traces, writing_traces)
                for trace in traces(network, task)
            ]
            if network_about.get("seed") == 0:  # of many seeds, one is looked at
                made += memory_traces(network, task)
                made += digit_traces(network, task)
        except UserError as error:
            problems.append(str(error))
            continue
        for name, arrays, about in made:
            whole = {**network_about, "lot": path.stem, **about}
            written.append(write_trace(folder, f"{path.stem}.{name}", arrays, whole))
    return written, problems


def is_traced(folder: Path, network: Path) -> bool:
    """Tell whether a network has traces that are not older than itself."""
    traces = trace_path(folder, f"{escape(network.stem)}.*")
    age = network.stat().st_mtime
    return any(path.stat().st_mtime >= age for path in traces.parent.glob(traces.name))
