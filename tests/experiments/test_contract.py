"""What every experiment promises, over the whole register."""

import pytest
import torch

from wug.core import index
from wug.core.errors import MissingFileError, UserError
from wug.functional.output import Output
from wug.functional.streams import stream_key
from wug.interfaces.registered import interface as get_interface
from wug.records import config_hash, identity
from wug.study.catalog import make_catalog
from wug.study.claims import Table
from wug.study.experiment import RunOptions, choose_rows
from wug.training.engine import initial_module
from wug.training.train import require_fit

KEYS = [entry.key for entry in index.entries("experiment")]
SCALES = ("smoke", "laptop", "paper")

every_experiment = pytest.mark.parametrize("key", KEYS)


@every_experiment
@pytest.mark.parametrize("scale", SCALES)
def test_scales(key, scale):
    experiment = index.get("experiment", key)(RunOptions(scale=scale))
    assert experiment.name == key
    config_hash(experiment.settings)
    labels = [v.labels for lot in experiment.lots for v in lot.variants]
    fields = (*experiment.layout.rows, experiment.layout.column)
    assert all(set(fields) == set(label) for label in labels)
    rows = {tuple(label[name] for name in experiment.layout.rows) for label in labels}
    assert rows <= set(experiment.layout.row_order)
    assert {label[fields[-1]] for label in labels} <= set(experiment.layout.column_order)
    assert experiment.departures and experiment.title


@every_experiment
def test_scales_grow(key):
    sizes = [
        sum(lot.num_replicas * lot.plan.steps for lot in experiment.lots)
        for experiment in (index.get("experiment", key)(RunOptions(scale=s)) for s in SCALES)
    ]
    assert sizes == sorted(sizes)


@every_experiment
def test_modules_fit_their_tasks(key):
    for lot in index.get("experiment", key)(RunOptions(scale="smoke")).lots:
        task, generator = lot.variants[0].task, torch.Generator().manual_seed(0)
        if task.interface == "classification":
            tokens, lengths, labels = task.batch("train", generator, size=4)
            logits = initial_module(lot, seed=3).eval()(tokens, lengths)
            assert logits.shape == (4, task.num_classes)
            assert labels.max() < task.num_classes
        elif task.interface == "transduction":
            try:
                batch = task.batch("train", generator, size=4).to_batch()
            except MissingFileError as error:
                pytest.skip(str(error))
            output, wanted = get_interface(task.interface).call(task, initial_module(lot, 3), batch)
            assert output.answer.shape == (*wanted.shape, task.num_target_tokens + 1)
        elif task.interface == "next_token":
            require_fit(lot)
        elif task.interface == "steps":
            try:
                batch = task.batch("train", size=2)
            except MissingFileError as error:
                pytest.skip(str(error))
            answer = Output.of(initial_module(lot, seed=3)(batch.inputs)).answer
            assert answer.shape == (*batch.asked.shape, task.out_features)
        else:
            x, y = task.batch("train", generator, size=4)
            assert Output.of(initial_module(lot, seed=3)(x)).answer.shape == y.shape


@every_experiment
def test_networks_that_are_compared_learn_from_the_same_data(key):
    streams: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for lot in index.get("experiment", key)(RunOptions(scale="smoke")).lots:
        for variant in lot.variants:
            named = tuple(variant.labels[name] for name in sorted(variant.stream))
            # A sweep passes through the defaults of another one, with data of its own.
            data = repr(variant.task), variant.labels.get("parameter", "")
            streams.setdefault(data, set()).add(named)
    assert all(len(names) == 1 for names in streams.values())


def stream_keys(experiment):
    """Return the keys of an experiment's streams by labels."""
    return {
        tuple(variant.labels.values()): tuple(lot.key(variant).tolist())
        for lot in experiment.lots
        for variant in lot.variants
    }


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("mistry2022.single_module", ("operation", "range")),
        ("mistry2022.redundancy", ("operation", "range")),
        ("faber2020.nsr_comparisons", ("numbers", "relation")),
        ("faber2020.nsr_sequences", ("task",)),
        ("schlor2020.magnitude", ("magnitude", "operation")),
    ],
)
def test_streams_are_those_of_the_shipped_records(key, names):
    # The first records were drawn with a key of all labels but the unit, in alphabetical order.
    experiment = index.get("experiment", key)(RunOptions(scale="smoke"))
    labels = [v.labels for lot in experiment.lots for v in lot.variants]
    expected = {
        tuple(label.values()): stream_key("train", *((name, label[name]) for name in names))
        for label in labels
    }
    assert stream_keys(experiment) == expected


@every_experiment
def test_published_numbers_stand_in_the_layout(key):
    experiment = index.get("experiment", key)(RunOptions())
    for cell in experiment.published:
        assert tuple(cell[name] for name in experiment.layout.rows) in experiment.layout.row_order
        assert cell[experiment.layout.column] in experiment.layout.column_order
        assert cell["source"]


@every_experiment
def test_catalog_without_records_leaves_every_claim_open(key):
    experiment = index.get("experiment", key)(RunOptions())
    catalog = make_catalog(experiment, [], "wug run")
    assert {claim["ours"]["verdict"] for claim in catalog["claims"]} <= {"undecided"}
    assert all(c.evaluate(Table({})).verdict.value == "undecided" for c in experiment.claims)


@every_experiment
def test_seeds_and_rows_can_be_chosen(key):
    row = index.entry("experiment", key).details["rows"][0]
    experiment = index.get("experiment", key)(RunOptions(scale="smoke", seeds=7, only=(row,)))
    seeds: dict[str, list[int]] = {}
    for lot in experiment.lots:
        for variant in lot.variants:
            seeds.setdefault(identity(variant.labels), []).extend(lot.seeds)
    assert seeds and all(mine == list(range(7)) for mine in seeds.values())
    with pytest.raises(UserError, match="unknown row 'nothing'"):
        index.get("experiment", key)(RunOptions(only=("nothing",)))


def test_choosing_rows():
    rows = [("nau", "add"), ("nau", "sub"), ("nmu", "mul")]
    assert choose_rows((), rows) == rows
    assert choose_rows(("nmu", "nau:sub", "nmu:mul"), rows) == [("nmu", "mul"), ("nau", "sub")]
    with pytest.raises(UserError, match="nau is trained on add, sub"):
        choose_rows(("nau:mul",), rows)
