import pytest
import torch

from wug.core.errors import UserError
from wug.functional.experts.backends import choose_backend

CPU = torch.device("cpu")


def test_a_back_end_that_can_t_serve_is_replaced_with_one_sentence():
    with pytest.warns(
        UserWarning, match=r"^experts: blockwise stands in for grouped: .*float64\.$"
    ):
        assert choose_backend("grouped", CPU, torch.float64) == "blockwise"


def test_a_device_without_the_grouped_product(monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("not here")

    monkeypatch.setattr(torch.nn.functional, "grouped_mm", fail)
    monkeypatch.setattr("wug.functional.experts.grouped._problems", {})
    with pytest.warns(UserWarning, match="doesn't work on cpu: not here"):
        assert choose_backend("grouped", CPU, torch.float32) == "blockwise"


def test_choices():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        assert choose_backend("auto", CPU, dtype) == "blockwise"
        assert choose_backend("loop", CPU, dtype) == "loop"
    assert choose_backend("grouped", CPU, torch.bfloat16) == "grouped"
    with pytest.raises(UserError, match="backend must be one of auto, loop, .*; got 'gpu'"):
        choose_backend("gpu", CPU, torch.float32)
