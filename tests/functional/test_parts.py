import torch
from torch import nn
from torch.testing import assert_close

from wug.functional.parts import of_part, parts_with, prefixed, update_parts


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def update(self, buffers, statistics):
        return {"count": buffers["count"] + statistics["seen"]}


def test_names():
    values = {"seen": torch.ones(())}
    assert of_part("a.b", prefixed("a.b", values)) == values
    assert of_part("a", {"ab.seen": 1, "b.a.seen": 2}) == {}


def test_only_parts_with_statistics_are_updated():
    network = nn.Sequential(
        nn.Linear(2, 2), Counter(), nn.ModuleDict({"x": Counter()}), nn.Sequential(Counter())
    )
    assert [name for name, _ in parts_with(network, "update")] == ["1", "2.x", "3.0"]
    buffers = dict(network.named_buffers())
    statistics = {"1.seen": torch.tensor(3.0), "3.0.seen": torch.tensor(4.0)}
    changed = update_parts(network, buffers, statistics)
    assert_close(changed, {"1.count": torch.tensor(3.0), "3.0.count": torch.tensor(4.0)})
    assert not any(buffer.any() for buffer in network.buffers())
    assert update_parts(network, buffers, {}) == {}
