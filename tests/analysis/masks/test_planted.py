"""Networks whose modules are known, and whether they are found."""

import copy

import pytest
import torch

from wug.analysis.masks.find import find_masks
from wug.analysis.masks.judging import scores_under
from wug.analysis.masks.overlap import precision_recall, total_sharing
from wug.analysis.masks.planted import PLANTED, shared_first_table, two_programs, two_tables
from wug.core.errors import UserError

every_network = pytest.mark.parametrize("name", list(PLANTED))


@every_network
def test_every_weight_is_needed_by_those_that_own_it(name):
    planted = PLANTED[name]()
    assert set(scores_under(planted.model, None, planted.functions, planted.score).values()) == {1}
    params = dict(planted.model.named_parameters())
    owned = planted.modules["a"] | planted.modules["b"]
    for parameter, value in params.items():
        assert torch.equal(owned.kept[parameter], value != 0)
        for item in (value != 0).nonzero().tolist():
            model = copy.deepcopy(planted.model)
            with torch.no_grad():
                model.get_parameter(parameter)[tuple(item)] = 0
            scores = scores_under(model, None, planted.functions, planted.score)
            needed = {n for n, m in planted.modules.items() if m.kept[parameter][tuple(item)]}
            assert {n for n, score in scores.items() if score < 1} == needed


@every_network
def test_true_modules_have_the_stated_properties(name):
    from wug.analysis.masks.judging import reuse, specialisation

    planted = PLANTED[name]()
    full = {"a": 1.0, "b": 1.0}
    under, inverse = (
        {
            n: scores_under(planted.model, ~m if invert else m, planted.functions, planted.score)
            for n, m in planted.modules.items()
        }
        for invert in (False, True)
    )
    assert specialisation(under, full) == planted.specialise
    assert reuse(inverse, full) == planted.reuse


def test_modules_are_found(planted):
    truth, found = planted
    for name, masks in found.masks.items():
        for mask in masks:
            precision, recall = precision_recall(truth.counted(mask), truth.modules[name])
            assert precision >= 0.95 and recall >= 0.95


def test_properties_are_found(planted):
    truth, found = planted
    assert found.specialise.value == pytest.approx(truth.specialise, abs=0.05)
    assert found.reuse.value == pytest.approx(truth.reuse, abs=0.05)


def test_sharing_is_found(planted):
    truth, found = planted
    shared = total_sharing(list(truth.modules.values()))
    for index in range(found.num_seeds):
        masks = [truth.counted(mask) for mask in found.of_seed(index).values()]
        assert total_sharing(masks) == pytest.approx(shared, abs=0.05)


def test_how_much_is_shared_is_known():
    truth = shared_first_table()
    shared = total_sharing(list(truth.modules.values()))
    assert shared == pytest.approx(6 / (6 + 2 + 2 * 18))
    assert total_sharing(list(two_tables().modules.values())) == 0


def test_too_few_symbols():
    for make in (two_tables, shared_first_table, two_programs):
        with pytest.raises(UserError):
            make(1)


def test_masks_are_compared_with_the_truth_if_it_is_known():
    planted = two_tables()
    found = find_masks(
        planted.model, planted.functions, planted.loss, score=planted.score, seeds=1, steps=1,
        controls=(), shares=(), progress=False, truth=planted.modules,
    )  # fmt: skip
    # One step closes no gate: everything is found, and half of it is of the other function.
    assert found.truth["a"] == {"precision": 0.5, "recall": 1.0}
    assert found.to_json()["truth"]["b"]["recall"] == 1
    with pytest.raises(UserError, match="truth"):
        find_masks(planted.model, planted.functions, planted.loss, truth={"c": found["a"]})
