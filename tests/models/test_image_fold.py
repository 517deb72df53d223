"""A CNN in front of a recurrent cell."""

import pytest
import torch
from torch.testing import assert_close

from wug.core import index
from wug.functional.network_rules import penalties, project_
from wug.models.image_fold import ImageFold, identity_term

PICTURES = torch.rand(3, 4, 64, generator=torch.Generator().manual_seed(1))


def fold(cell, out=1, **options):
    generator = torch.Generator().manual_seed(0)
    return ImageFold(64, out, cell=cell, generator=generator, **options)


@pytest.mark.parametrize(
    ("cell", "options"),
    [
        ("nau", {}), ("nmu", {}), ("nac_add", {}), ("nalu", {}), ("gated_nau_nmu", {}),
        ("inalu", {}), ("real_npu", {}), ("lstm", {}), ("gru", {"hidden_features": 5}),
        ("ugrnn", {"hidden_features": 5}), ("sum", {}), ("product", {}),
    ],
)  # fmt: skip
def test_every_cell_answers_after_every_picture(cell, options):
    network = fold(cell, 2, **options)
    output = network(PICTURES)
    assert output.answer.shape == (3, 4, 2)
    # A longer sequence changes nothing in the values before.
    assert_close(network(PICTURES[:, :2]).answer, output.answer[:, :2])
    output.answer.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())


@pytest.mark.parametrize("unit", [entry.key for entry in index.entries("unit")])
def test_any_registered_unit_folds(unit):
    output = fold(unit)(PICTURES)
    assert output.answer.shape == (3, 4, 1)
    assert output.answer.isfinite().all()
    assert all(term.shape == () for term in output.terms.values())


def test_the_reference_is_right_from_the_start():
    for cell, operation in (("sum", torch.cumsum), ("product", torch.cumprod)):
        network = fold(cell)
        assert network.cell is None
        assert_close(network(PICTURES).answer, operation(network.reader(PICTURES), 1))


def test_a_solved_unit_is_the_reference():
    reference, network = fold("product"), fold("nmu")
    network.reader.load_state_dict(reference.reader.state_dict())
    torch.nn.init.ones_(network.cell.unit.weight)
    assert_close(network(PICTURES).answer, reference(PICTURES).answer)
    assert network(PICTURES).terms["identity"] == 0


@pytest.mark.parametrize("cell", ["nmu", "nau"])
def test_identity_term_by_hand(cell):
    network = fold(cell)
    numbers, states = network.reader(PICTURES), network(PICTURES).answer
    start = 1.0 if cell == "nmu" else 0.0
    before = torch.cat((torch.full((3, 1, 1), start), states[:, :-1]), 1)
    total = 0.0
    for i, seen in enumerate((numbers, before)):
        weight = network.cell.unit.weight[0, i].abs()
        total += (1 - weight) * (start - seen.mean()) ** 2 / 2
    assert_close(network(PICTURES).terms["identity"], total)


def test_products_of_powers_are_judged_by_logarithms():
    network = fold("nac_mul", options={"weight": "linear"})
    numbers, states = network.reader(PICTURES), network(PICTURES).answer
    before = torch.cat((torch.ones(3, 1, 1), states[:, :-1]), 1)
    seen = torch.cat((numbers, before), -1)
    expected = identity_term(network.cell.unit.w_hat, (seen.abs() + 1e-7).log(), 1.0)
    assert_close(network(PICTURES).terms["identity"], expected)


def test_cells_without_one_matrix_have_no_identity_term():
    for cell in ("lstm", "sum", "gated_nau_nmu"):
        assert not fold(cell)(PICTURES).terms


def test_rules_reach_the_unit():
    network = fold("nmu")
    torch.nn.init.constant_(network.cell.unit.weight, 1.5)
    assert list(penalties(network, dict(network.named_parameters()))) == ["penalty"]
    reader = network.reader.weights[0].clone()
    project_(network)
    assert (network.cell.unit.weight == 1).all() and torch.equal(network.reader.weights[0], reader)
    params = dict(fold("lstm").named_parameters())
    assert fold("lstm").penalty(params) == 0 and set(fold("lstm").project(params)) == set(params)


def test_trace():
    network = fold("nau", 2)
    trace = network.trace(PICTURES)
    assert trace["numbers"].shape == (3, 4, 2)
    assert_close(trace["output"], network(PICTURES).answer)
