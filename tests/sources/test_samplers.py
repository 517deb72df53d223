"""Which examples make a batch, and when a training goes on to harder problems."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.sources.samplers import Bucketed, ByError, ByLevel, ByTokens, Curriculum, Drawn
from wug.tasks.productivity.scan_length import ScanLength

RIGHT, WRONG = {"0": 0.0, "1": 0.1}, {"0": 0.0, "1": 0.2}


def some_lengths(counts=(3, 40, 60)):
    return torch.tensor([level + 1 for level, count in enumerate(counts) for _ in range(count)])


def chooser(sampler=None, counts=(3, 40, 60), batch_size=10):
    lengths = some_lengths(counts)
    tokens = torch.arange(len(lengths)).unsqueeze(-1) % 2
    examples = SimpleNamespace(lengths=lengths, levels=lengths, tokens=tokens)
    sampler = sampler or Bucketed()
    choose, learnt = sampler.chooser(examples, batch_size), sampler.first_values(examples)
    return lambda key, step, values=learnt: choose(values, key, step)


def test_an_epoch_visits_everything_once_but_a_remainder():
    choose = chooser()
    seen = [item for step in range(10) for item in choose((0,), step).tolist()]
    assert len(seen) == len(set(seen)) == 100


def test_buckets_hold_about_the_same_lengths():
    choose, lengths = chooser(), some_lengths()
    longest = []
    for step in range(10):
        batch = lengths[choose((0,), step)]
        assert batch.max() - batch.min() <= 1
        longest.append(int(batch.max()))
    assert longest != sorted(longest)


@pytest.mark.parametrize("sampler", [Bucketed(), Drawn(), ByLevel(1.0), ByError()])
def test_batches_depend_on_key_and_step_alone(sampler):
    first, again = chooser(sampler), chooser(sampler)
    steps = (0, 7, 25)
    found = [first((0,), step).tolist() for step in steps]
    assert found == [again((0,), step).tolist() for step in reversed(steps)][::-1]
    assert found != [first((1,), step).tolist() for step in steps]
    assert len(first((0,), 13)) == 10


def test_epochs_differ():
    choose = chooser()
    first, second = (
        [choose((0,), s).tolist() for s in steps] for steps in (range(10), range(10, 20))
    )
    assert first != second


def test_a_set_of_a_multiple_of_the_batch_size_is_used_whole():
    choose = chooser(counts=(0, 20, 20), batch_size=20)
    assert sorted(choose((0,), 0).tolist() + choose((0,), 1).tolist()) == list(range(40))


def test_a_batch_is_no_larger_than_the_set():
    assert len(chooser(counts=(2, 0, 0), batch_size=20)((0,), 5)) == 2


@pytest.mark.parametrize("sampler", [Bucketed(), Drawn(), ByLevel(1.0)])
def test_no_examples_are_a_sentence(sampler):
    with pytest.raises(UserError, match="number of examples must be at least 1; got 0"):
        chooser(sampler, (0, 0, 0))


@pytest.mark.parametrize(("power", "shares"), [(0.0, (2, 2, 2)), (1.0, (1, 2, 3))])
def test_levels_are_drawn_by_a_power_of_theirs(power, shares):
    counts = (30, 400, 6_000)
    levels = some_lengths(counts)
    chosen = chooser(ByLevel(power), counts, 3_000)((0,), 0)
    found = torch.bincount(levels[chosen])[1:]
    # Binomial with n = 3,000 and p of at most 1/2: five standard deviations are at most 137.
    assert (found - 500 * torch.tensor(shares)).abs().max() < 137


def test_lengths_are_graded_by_how_many_problems_have_them():
    # 24 problems of lengths 1, 1, 2, 2, 3, 3 and so on to 10, and four more of length 10.
    lengths = torch.tensor([min(1 + i // 2, 10) for i in range(24)])
    curriculum = Curriculum(mastery=0.9, grading="length")
    assert curriculum.edges(lengths, torch.ones(24)).tolist() == list(range(1, 11))


@pytest.mark.parametrize(
    ("errors", "expected"),
    # What IID validation does not have is not mastered.
    [(RIGHT, 1), (WRONG, 0), ({"0": 0.2, "1": 0.0}, 0), ({}, 0)],
)
def test_every_grade_so_far_is_to_be_mastered(errors, expected):
    assert Curriculum(mastery=0.9).next_stage(0, 5, 0.0, errors) == expected


def test_comes_to_an_end():
    curriculum = Curriculum(mastery=0.9)
    assert curriculum.next_stage(2, 5, 0.0, RIGHT) == 3
    assert curriculum.next_stage(3, 5, 1.0, RIGHT) == 3
    assert curriculum.next_stage(0, 2, 1.0, RIGHT) == 0


@pytest.mark.parametrize(("complete_by", "all_latest"), [(0.5, [10, 20, 30]), (0.25, [5, 10, 15])])
def test_goes_on_at_the_latest_by_equal_parts(complete_by, all_latest):
    curriculum = Curriculum(mastery=0.9, complete_by=complete_by)
    for stage, latest in enumerate(all_latest):
        assert curriculum.next_stage(stage, 5, (latest - 0.1) / 60, WRONG) == stage
        assert curriculum.next_stage(stage, 5, latest / 60, WRONG) == stage + 1


def test_unknown_grading():
    with pytest.raises(UserError, match="grading must be one of level, length; got 'depth'"):
        Curriculum(mastery=0.9, grading="depth")


def test_what_is_answered_wrongly_is_drawn_more_often():
    sampler = ByError(least=0.1)
    tokens, lengths = torch.tensor([[0]] * 4 + [[1]] * 9), torch.tensor([3] * 13)
    examples = SimpleNamespace(tokens=tokens, lengths=lengths, levels=lengths)
    choose = sampler.chooser(examples, 8)
    values = sampler.first_values(examples)
    zero, one = sampler.kinds(torch.tensor([[0], [1]]), torch.tensor([3, 3])).tolist()

    def share():
        drawn = torch.cat([choose(values, (0,), step) for step in range(500)])
        counts = torch.bincount(drawn, minlength=13)
        # Problems of a kind are drawn alike.
        assert counts[:4].float().std() < 5 * counts[:4].float().mean().sqrt()
        return (counts[:4].sum() / len(drawn)).item()

    # All wrong so far: in proportion to the roots of 4 and 9.
    assert share() == pytest.approx(2 / 5, abs=0.03)
    values["errors"][one] = 0.5
    assert share() == pytest.approx(2 / 3.5, abs=0.03)
    values["errors"][zero] = 0.0  # but never below the least
    assert share() == pytest.approx(0.2 / 1.7, abs=0.03)


def test_a_batch_by_errors_has_about_one_length():
    choose, lengths = chooser(ByError(), counts=(5,) * 20, batch_size=16), some_lengths((5,) * 20)
    found = {tuple(sorted(set(lengths[choose((0,), step)].tolist()))) for step in range(100)}
    assert max(max(one) - min(one) for one in found) <= 5  # 16 to 20 share a width
    assert {n for one in found for n in one} == set(range(1, 21))


@pytest.mark.parametrize("options", [{"memory": 0}, {"least": 0.0}])
def test_numbers_of_errors_are_checked(options):
    with pytest.raises(UserError, match="ByError"):
        ByError(**options)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 64))
def test_batches_by_tokens_hold_every_example_once_and_no_more_than_they_may(sizes, most):
    lengths = torch.tensor(sizes)
    examples = SimpleNamespace(lengths=lengths, levels=lengths)
    chooser = ByTokens(most).chooser(examples, batch_size=1)

    def choose(key, step):
        return chooser({}, key, step)

    for epoch in range(2):
        seen, step = [], 0
        while len(seen) < len(sizes):
            batch = choose((7,), epoch * _num_batches(choose, len(sizes)) + step)
            assert len(batch) * int(lengths[batch].max()) <= most or len(batch) == 1
            seen += batch.tolist()
            step += 1
        assert sorted(seen) == list(range(len(sizes)))


def _num_batches(choose, num_examples):
    seen, step = 0, 0
    while seen < num_examples:
        seen += len(choose((7,), step))
        step += 1
    return step


def test_pairs_in_batches_by_tokens_count_both_sides():
    task = ScanLength(cutoff=26)
    source = task.source(64, sampler=ByTokens(300))
    sizes = [source.draw({}, (0,), step, 0)["source"].shape[0] for step in range(30)]
    assert len(set(sizes)) > 3
    for step in range(30):
        batch = source.draw({}, (0,), step, 0)
        pairs = batch["source_lengths"] + batch["target_lengths"] + 1
        assert len(pairs) * int(pairs.max()) <= 300
