import math

import pytest
import torch
from torch.testing import assert_close

from wug.analysis.memory import link_use, mask_use, memory_record, memory_use, sharpness
from wug.core.errors import UserError
from wug.core.folders import results_folder
from wug.models.dnc import DNC
from wug.models.step_lstm import StepLSTM
from wug.tasks.memory.copy import Copy
from wug.training.kept_networks import load

TASK = Copy(bits=2, train_lengths=(1, 3), repeats=(2, 2), ood_validation_lengths=(4, 4),
            test_lengths=(5, 5))  # fmt: skip


def network(**options):
    generator = torch.Generator().manual_seed(0)
    return DNC(
        3, 2, controller_features=4, num_cells=5, word_features=4, num_reads=2,
        generator=generator, **options,
    )  # fmt: skip


def test_sharpness_of_even_and_of_single_addresses():
    weights = torch.tensor([[0.25] * 4, [0.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0] * 4])
    found = sharpness(weights)
    assert_close(found["peak"], torch.tensor([0.25, 1.0, 0.5, 0.0]))
    assert_close(found["entropy"], torch.tensor([1.0, 0.0, math.log(2) / math.log(4), 1.0]))


def test_links_and_modes_are_means_over_steps_that_ask():
    asked = torch.tensor([[True, False, True]])
    links = torch.zeros(1, 3, 1, 2)
    links[0, 0, 0], links[0, 1, 0], links[0, 2, 0] = (
        torch.tensor([1.0, 0.0]), torch.tensor([9.0, 9.0]), torch.tensor([0.5, 0.5]),
    )  # fmt: skip
    modes = torch.tensor([[[[1.0, 0.0, 0.0]], [[9.0, 9.0, 9.0]], [[0.0, 0.5, 0.5]]]])
    found = link_use({"forward_links": links, "read_modes": modes}, asked)
    assert found == {
        "forward_peak": 0.75, "forward_entropy": 0.5, "reads_backward": 0.5,
        "reads_content": 0.25, "reads_forward": 0.25,
    }  # fmt: skip


def test_masks_that_switch_and_masks_that_stay():
    first = torch.tensor([[True, True, False, False]])
    switching = torch.tensor([[[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]]]])
    found = mask_use({"read_masks": switching}, first, ~first)
    assert found == {"mask_open": 0.5, "mask_switch": 1.0}
    found = mask_use({"read_masks": torch.full_like(switching, 0.25)}, first, ~first)
    assert found == {"mask_open": 0.25, "mask_switch": 0.0}
    with pytest.raises(UserError, match="mask_use: the network must have masks"):
        mask_use({}, first, ~first)


def test_what_is_drawn_is_what_the_trace_has():
    batch = TASK.batch("validation", size=2, level=3)
    model = network()
    arrays, about = memory_record(model, batch)
    trace = model.trace(batch.inputs[:1])
    steps = batch.inputs.shape[1]
    assert arrays["links"].shape == (steps, 5, 5) and arrays["reads"].shape == (steps, 2, 5)
    assert_close(torch.tensor(arrays["memory"]), trace["memory"][0].detach())
    assert_close(torch.tensor(arrays["masks"]), trace["read_masks"][0].detach())
    assert_close(torch.tensor(arrays["inputs"]), (batch.inputs[0] + 1) / 2)
    right = ((trace["output"][0] > 0) == (batch.targets[0] > 0.5)).all(-1) & batch.asked[0]
    assert about["num_right"] == right.sum() and about["num_asked"] == batch.asked[0].sum() == 6
    assert "masks" not in memory_record(network(masking=False), batch)[0]


def test_a_network_without_cells_is_refused():
    with pytest.raises(UserError, match="StepLSTM has no links between cells; it must be a DNC"):
        memory_use(StepLSTM(3, 2, features=2), TASK.batch("validation", size=1, level=1))


@pytest.mark.parametrize("row", ["dnc_d", "dnc_ds"])
def test_shipped_networks_read_as_in_the_thesis(row):
    # csordas2023, figure 2.4: with sharpening links peak near 1 and are followed; without, they are
    # blurry and content is used.
    folder = results_folder() / "csordas2023.dnc_copy" / "laptop-short-blocks" / "models"
    uses = []
    for path in sorted(folder.glob(f"{row}-0-*.safetensors")):
        model, task = load(path)
        uses.append(memory_use(model, task.batch("validation", seed=1, size=4, level=5)))
    assert len(uses) == 8
    mean = {name: sum(use[name] for use in uses) / len(uses) for name in uses[0]}
    if row == "dnc_ds":
        assert mean["forward_peak"] > 0.9 and mean["reads_forward"] > 0.5
    else:
        assert mean["forward_peak"] < 0.9 and mean["reads_content"] > 0.5
