import numpy as np
import pytest
import torch

from wug.analysis.experts import ExpertUse, expert_use
from wug.core.errors import UserError
from wug.models.moeut import MoEUT
from wug.models.transformer_xl import TransformerXL
from wug.tasks.language.wug_test import WugTest

TASK = WugTest(length=8, num_blocks=3, train_bytes=1_000, held_out_bytes=200)
OPTIONS = {"features": 8, "num_layers": 2, "num_heads": 2, "memory_length": 0}


def network(**options):
    return TransformerXL(
        256, **OPTIONS, feed_forward="sigma_moe", num_experts=5, expert_features=4,
        generator=torch.Generator().manual_seed(0), **options,
    )  # fmt: skip


def choices(model):
    """Read the text slowly: the experts and weights of every token and layer."""
    model.eval()
    found = [[], []]
    source = TASK.source(1)
    for index in range(source.num_parts("validation")):
        batch = source.part("validation", index)
        for row in range(3):
            size = int(batch["mask"][row].sum())
            if size:
                inside = model.trace(batch["inputs"][row : row + 1, :size])
                for layer in range(2):
                    found[layer] += zip(
                        inside["experts"][layer, 0].tolist(),
                        inside["weights"][layer, 0].tolist(), strict=True,
                    )  # fmt: skip
    return found


def test_equals_the_reference():
    model = network(top_k=3)
    use = expert_use(model, TASK)
    for layer, tokens in enumerate(choices(model)):
        weights, chosen, together = np.zeros(5), np.zeros(5), np.zeros((5, 5))
        for experts, shares in tokens:
            for expert, share in zip(experts, shares, strict=True):
                weights[expert] += share
                chosen[expert] += 1
                for other in experts:
                    together[expert, other] += other != expert
        np.testing.assert_allclose(use.weights[layer], weights / weights.sum(), rtol=1e-5)
        np.testing.assert_allclose(use.choices[layer], chosen / chosen.sum())
        rows = together.sum(-1, keepdims=True)
        np.testing.assert_allclose(use.together[layer], together / np.where(rows, rows, 1))
    assert use.layers == ("layers.0.feed_forward", "layers.1.feed_forward")
    assert use.repeats.shape == (2, 0) and "same_experts" not in use.numbers
    assert not model.training


def test_collapse_is_a_number():
    even, one = np.full((1, 4), 0.25), np.array([[1.0, 0, 0, 0]])
    make = {"layers": ("a",), "choices": even, "together": np.zeros((1, 4, 4)),
            "repeats": np.empty((1, 0))}  # fmt: skip
    assert ExpertUse(weights=even, **make).numbers == {
        "usage_entropy": pytest.approx(1), "top_expert_share": 0.25,
    }  # fmt: skip
    assert ExpertUse(weights=one, **make).numbers == {
        "usage_entropy": pytest.approx(0), "top_expert_share": 1.0,
    }  # fmt: skip


def test_shared_layers_choose_again_at_every_repeat():
    model = MoEUT(256, features=8, group_size=2, num_repeats=3, num_experts=4, expert_features=4,
                  top_k=2, generator=torch.Generator().manual_seed(0)).eval()  # fmt: skip
    use = expert_use(model, TASK)
    assert use.repeats.shape == (2, 2)
    seen = []
    hook = model.layers[0].feed_forward.router.register_forward_hook(
        lambda module, inputs, routing: seen.append(routing.index)
    )
    source, shares, number = TASK.source(1), np.zeros(2), 0
    for index in range(source.num_parts("validation")):
        batch = source.part("validation", index)
        seen.clear()
        model(batch["inputs"])
        for row, step in batch["mask"].nonzero().tolist():
            sets = [set(one[row, step].tolist()) for one in seen]
            shares += [len(sets[0] & sets[1]) / 2, len(sets[1] & sets[2]) / 2]
            number += 1
    hook.remove()
    # Parts of a text count alike, however few tokens the last one has.
    np.testing.assert_allclose(use.repeats[0], shares / number, atol=0.05)
    assert 0 <= use.numbers["same_experts"] <= 1


def test_needs_experts():
    with pytest.raises(UserError, match="equally many experts; got none"):
        expert_use(TransformerXL(256, **OPTIONS), TASK)
