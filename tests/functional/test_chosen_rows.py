import pytest
import torch
from torch.testing import assert_close

from wug.functional.chosen_rows import multiply_rows, sum_rows

# name -> tokens, choices, rows of the table.
CASES = {
    "usual": (5, 3, 4),
    "one token": (1, 2, 6),
    "unchosen rows": (2, 1, 9),
    "no token": (0, 2, 3),
}


def draw(case, dtype=torch.float64):
    """Indices may repeat: two heads may choose the same row."""
    tokens, choices, rows = CASES[case]
    generator = torch.Generator().manual_seed(0)
    shapes = ((tokens, 6), (rows, 6), (tokens, choices))
    leaves = [
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in shapes
    ]
    return *leaves, torch.randint(rows, (tokens, choices), generator=generator)


def assert_same(own, expected, leaves):
    assert_close(own, expected)
    factors = torch.linspace(-1, 2, own.numel(), dtype=own.dtype).view_as(own)
    found, reference = (
        torch.autograd.grad((one * factors).sum(), leaves) for one in (own, expected)
    )
    assert_close(found, reference)


@pytest.mark.parametrize("case", CASES)
def test_equals_copies_of_the_rows(case):
    x, table, weights, index = draw(case)
    sums = (weights.unsqueeze(-1) * table[index]).sum(1)
    assert_same(sum_rows(table, index, weights), sums, [table, weights])
    products = (x.unsqueeze(1) * table[index]).sum(-1)
    assert_same(multiply_rows(x, table, index), products, [x, table])


def test_gradient_of_a_sum():
    """Its gradient is one number, expanded."""
    x, table, weights, index = draw("usual")
    output = sum_rows(table, index, weights * multiply_rows(x, table, index))
    products = (x.unsqueeze(1) * table[index]).sum(-1)
    expected = ((weights * products).unsqueeze(-1) * table[index]).sum(1)
    leaves = [x, table, weights]
    found, reference = (torch.autograd.grad(one.sum(), leaves) for one in (output, expected))
    assert_close(found, reference)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
def test_compiles_in_one_piece():
    torch.compiler.reset()
    x, table, weights, index = draw("usual", torch.float32)

    def both(x, table, weights):
        return sum_rows(table, index, weights * multiply_rows(x, table, index))

    compiled = torch.compile(both, fullgraph=True, backend="aot_eager")
    assert_same(compiled(x, table, weights), both(x, table, weights), [x, table, weights])


def test_half_precision():
    x, table, weights, index = draw("usual", torch.bfloat16)
    output = sum_rows(table, index, multiply_rows(x, table, index) * weights)
    assert output.dtype == torch.bfloat16
    x, table, weights = x.double(), table.double(), weights.double()
    expected = sum_rows(table, index, multiply_rows(x, table, index) * weights)
    assert_close(output.double(), expected, rtol=0.05, atol=0.1)
