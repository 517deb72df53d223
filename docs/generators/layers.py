"""What feed-forward layers cost and give, from records alone."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean

from generators.results import NOTHING, main_result, results
from wug.core import index
from wug.experiments.csordas2023._language_judging import difference_cells
from wug.records import Record
from wug.stats.measures import lookup

USUAL = "N_E=16"
NAMES = {
    "dense": "Dense", "softmax": "Softmax", "sigma_moe": "σ-MoE",
    "no_regularisation": "σ-MoE without regularisation",
    "softmax_renormalised": "Softmax, renormalised", "switch": "Switch", "s_base": "S-BASE",
    "sparsely_gated": "Sparsely gated", "loss_free": "Balanced without a loss",
    **{f"k{kept}": f"Top-K, {kept} units" for kept in (64, 128, 256, 512)},
    "relu_init": "Product keys, rectified, from dense weights",
    "pkm.relu": "Product keys, rectified", "pkm.softmax": "Product keys, softmax",
}  # fmt: skip
# Tables whose networks have the same size, text and steps.
SHORT = tuple(f"csordas2023.{table}" for table in ("top_k", "pkm", "expert_usage"))
HEADINGS = (
    "layer", "seeds", "bits per character", "parameters", "FLOPs of blocks per token",
    "memory per token", "tokens per second", "evenness of experts",
)  # fmt: skip


def named(key: str) -> str:
    """Return what a layer is called."""
    if key in NAMES:
        return NAMES[key]
    return next((entry.name for entry in index.entries("layer") if entry.key == key), key)


def layer_of(record: Record) -> str:
    """Return what the layer of a record is called; some tables have names of their own."""
    layer = str(record.key["layer" if "layer" in record.key else "model"])
    table = record.experiment.rpartition(".")[2]
    return NAMES.get(f"{table}.{layer}", named(layer))


def averages(records: Sequence[Record], paths: Sequence[str]) -> Mapping[str, list]:
    """Return the means of some numbers by layer, in the order of the records."""
    rows: dict[str, list[Record]] = {}
    for record in records:
        rows.setdefault(layer_of(record), []).append(record)
    return {name: [average(own, path) for path in paths] for name, own in rows.items()}


def average(records: Sequence[Record], path: str) -> float:
    """Return the mean of a number over the records that have it; NaN if none has."""
    found = [lookup(record.outcome, path) for record in records]
    known = [value for value in found if value is not None]
    return mean(known) if known else math.nan


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; numbers stand right."""
    line = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, line, *rows)) + "\n"


def costs() -> str:
    """Return time, memory and parameters of each layer, beside the dense block's."""
    result = main_result("csordas2023.efficiency")
    if result is None:
        return NOTHING
    records = [r for r in result.run.records() if r.key["sizes"] == USUAL]
    paths = [f"observed.layer_{name}" for name in ("seconds", "bytes", "parameters")]
    found = averages(records, paths)
    dense = found[NAMES["dense"]]
    rows = [
        (
            layer, f"{size / 1e6:.2f} M", f"{1e3 * seconds:.0f} ms",
            f"{seconds / dense[0]:.2f}", f"{kept / 1e6:.1f} MB", f"{kept / dense[1]:.2f}",
        )
        for layer, (seconds, kept, size) in sorted(found.items(), key=lambda row: -row[1][0])
    ]  # fmt: skip
    return table(("layer", "parameters", "time", "of dense", "memory", "of dense"), rows)


def gains() -> str:
    """Return bits per character and the cost of the networks that were trained."""
    result = main_result("csordas2023.sigma_moe")
    return NOTHING if result is None else gains_of(list(result.run.records()))


def short_gains() -> str:
    """Return the same of more layers, after a fifth of the steps."""
    found = [result for table in SHORT for result in results(table)]
    # Dense blocks stand in two of the tables.
    records = {
        (layer_of(record), record.seed): record
        for result in found
        for record in result.run.records()
    }
    return gains_of(list(records.values())) if records else NOTHING


def gains_of(records: Sequence[Record]) -> str:
    """Return bits per character and costs by model."""
    paths = (
        "selected.test.bits_per_character", "observed.num_parameters",
        "observed.mlp_flops_per_token", "observed.activation_bytes", "observed.tokens_per_second",
        "observed.usage_entropy",
    )  # fmt: skip
    found = averages(records, paths)
    seeds = Counter(map(layer_of, records))
    rows = [
        (
            name, str(seeds[name]), f"{bits:.3f}", f"{size / 1e6:.2f} M",
            f"{flops / 1e6:.2f} M", f"{kept / 1e3:.1f} kB", f"{speed:,.0f}",
            "" if math.isnan(even) else f"{even:.2f}",
        )
        for name, (bits, size, flops, kept, speed, even) in found.items()
    ]  # fmt: skip
    return table(HEADINGS, rows)


def differences() -> str:
    """Return the differences to the dense network and between mixtures, with their intervals."""
    result = main_result("csordas2023.sigma_moe")
    if result is None:
        return NOTHING
    rows = []
    for (pair, _), cell in difference_cells(list(result.run.records())).items():
        first, second = pair.split(" - ")
        if first == "sigma_moe":
            block, seed = cell["by_block"], cell["by_seed"]
            seeds = f"{seed.low:+.3f} to {seed.high:+.3f}" if seed.has_interval else "one seed"
            rows.append((f"{named(first)} minus {named(second)}", f"{block.value:+.3f}",
                         f"{block.low:+.3f} to {block.high:+.3f}", seeds))  # fmt: skip
    return table(("", "bits per character", "95 % by blocks", "95 % by seeds"), rows)
