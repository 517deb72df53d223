"""The residual network, against torch's modules."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.network_rules import update
from wug.models.resnet import ResNet


class Slow(nn.Module):
    """The same network of torch's layers, block by block."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.layers = nn.ModuleList()
        self.norms = nn.ModuleList()
        for kernel in model.kernels:
            out, inner, size, _ = kernel.shape
            layer = nn.Conv2d(inner, out, size, padding=size // 2, bias=False)
            layer.weight.data.copy_(kernel.data)
            self.layers.append(layer)
            self.norms.append(nn.BatchNorm2d(out))

    def forward(self, x):
        pairs = iter(zip(self.layers, self.norms, strict=True))

        def convolve(x, stride=1):
            layer, norm = next(pairs)
            layer.stride = (stride, stride)
            return norm(layer(x))

        x = convolve(x.view(len(x), 2, 8, 8)).relu()
        for width in (3, 4, 6):
            for _ in range(self.model.num_blocks):
                grows = x.shape[1] != width
                inside = convolve(convolve(x, 2 if grows else 1).relu())
                x = ((convolve(x, 2) if grows else x) + inside).relu()
        return x.mean((-1, -2)) @ self.model.weight.T + self.model.bias


def make():
    return ResNet(2 * 64, 3, channels=2, depth=14, widths=(3, 4, 6),
                  generator=torch.Generator().manual_seed(0))  # fmt: skip


def test_equals_layers_of_torch_in_training_and_evaluation():
    model = make()
    slow = Slow(model)
    x = torch.randn(4, 128, generator=torch.Generator().manual_seed(0))
    output = model(x)
    assert_close(output.answer, slow(x))
    buffers = update(model, dict(model.named_buffers()), output.statistics)
    for index, norm in enumerate(slow.norms):
        assert_close(buffers[f"mean_{index}"], norm.running_mean)
        assert_close(buffers[f"variance_{index}"], norm.running_var)
    model.load_state_dict(buffers, strict=False)
    assert_close(model.eval()(x).answer, slow.eval()(x))
    assert not model(x).statistics


def test_has_as_many_layers_and_weights_as_it_says():
    model = ResNet(3 * 32 * 32, 10, channels=3)
    assert sum(kernel.shape[-1] == 3 for kernel in model.kernels) + 1 == 110
    assert sum(p.numel() for p in model.parameters()) == 1_730_714  # of he2016's 1.7 million


def test_odd_depths_are_refused():
    with pytest.raises(UserError, match="6 n \\+ 2"):
        ResNet(9, 2, depth=109)
    with pytest.raises(UserError, match="widths"):
        ResNet(9, 2, widths=(1, 0))


def test_channels_that_hardly_vary_have_no_negative_variance():
    model = ResNet(64, 3, depth=8, widths=(2, 2, 2))
    places, large = torch.tensor(100.0), torch.full((2,), 1e4)
    some = {"places": places, "sum": places * large, "squares": places * large**2 * (1 - 1e-6)}
    sums = {f"{name}_{i}": value for i in range(len(model.kernels)) for name, value in some.items()}
    found = model.update(dict(model.named_buffers()), sums)
    assert all((value >= 0).all() for name, value in found.items() if name.startswith("variance"))
