"""Whether all experts are used: auxiliary losses, loads, and the bias that needs no loss."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from wug.functional.across_ranks import several_ranks, sum_over_ranks


def masked_mean(values: Tensor, valid: Tensor | None) -> Tensor:
    """Return the mean over all tokens that are not padding, of all ranks if there are several.

    Shape:
        values (..., expert), valid (...) -> (expert,).
    """
    flat = values.reshape(-1, values.shape[-1])
    if several_ranks():
        counted = flat.new_ones(len(flat)) if valid is None else valid.reshape(-1).to(flat.dtype)
        sums = sum_over_ranks(torch.cat([counted @ flat, counted.sum()[None]]))
        return sums[:-1] / sums[-1].clamp(min=1)
    if valid is None:
        return flat.mean(0)
    counted = valid.reshape(-1).to(flat.dtype)
    return counted @ flat / counted.sum().clamp(min=1)


def negative_entropy(p: Tensor) -> Tensor:
    """Return sum p log p over the last axis, with 0 log 0 = 0 and a gradient that is never NaN.

    Example:
        >>> negative_entropy(torch.tensor([0.5, 0.5, 0.0]))
        tensor(-0.6931)
    """
    positive = p > 0
    return (p * torch.where(positive, p, 1.0).log()).sum(-1)


def entropy_loss(logits: Tensor, valid: Tensor | None = None) -> Tensor:
    """Return how uneven the mean choice of all tokens is (csordas2023, Eqs. 7.19 and 7.20).

    The softmax is taken per token, the entropy of its mean over the tokens: every token may be
    certain of its expert if all of them together use all experts. From -log(experts) to 0.

    Shape:
        logits (..., expert), valid (...) -> scalar.

    Example:
        >>> entropy_loss(torch.tensor([[100.0, 0.0], [0.0, 100.0]]))
        tensor(-0.6931)
    """
    return negative_entropy(masked_mean(logits.softmax(-1), valid))


def variation_loss(weights: Tensor, valid: Tensor | None = None) -> Tensor:
    """Return the coefficient of variation of the experts' total weights (csordas2023, Eq. 7.13).

    csordas2023 prints mean / deviation; the coefficient of variation is deviation / mean, which
    shazeer2017 means: smaller is more even.

    Args:
        weights: Of every token and expert, 0 where an expert is not chosen.
        valid: Tokens that count.

    Shape:
        weights (..., expert), valid (...) -> scalar.

    Example:
        >>> variation_loss(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
        tensor(0.5000)
    """
    importance = masked_mean(weights, valid)
    mean = importance.mean()
    # The root of a small number instead of 0: its gradient is finite where all are equal.
    smallest = torch.finfo(importance.dtype).tiny
    return ((importance - mean).square().mean() + smallest).sqrt() / mean.clamp(min=smallest)


def switch_loss(probabilities: Tensor, index: Tensor, valid: Tensor | None = None) -> Tensor:
    """Return experts * (share of tokens . mean probability) (csordas2023, Eqs. 7.14-7.16).

    Shape:
        probabilities (..., expert), index (..., choice), valid (...) -> scalar.

    Example:
        >>> switch_loss(torch.tensor([[0.9, 0.1], [0.2, 0.8]]), torch.tensor([[0], [1]]))
        tensor(1.)
    """
    num_experts = probabilities.shape[-1]
    share = masked_mean(multi_hot(index, num_experts, probabilities.dtype), valid)
    return num_experts * (share @ masked_mean(probabilities, valid))


def multi_hot(index: Tensor, num_experts: int, dtype: torch.dtype) -> Tensor:
    """Return 1 for the experts that a token chose, 0 for the others.

    Example:
        >>> multi_hot(torch.tensor([[2, 0]]), 3, torch.float32)
        tensor([[1., 0., 1.]])
    """
    return F.one_hot(index, num_experts).sum(-2).to(dtype)


def expert_loads(index: Tensor, num_experts: int, valid: Tensor | None = None) -> Tensor:
    """Count how many tokens chose each expert, without padding; counts of several batches add up.

    Shape:
        index (..., choice), valid (...) -> (expert,), float32.

    Example:
        >>> expert_loads(torch.tensor([[0, 1], [0, 2]]), 3, torch.tensor([True, False]))
        tensor([1., 1., 0.])
    """
    counted = torch.ones_like(index, dtype=torch.float32)
    if valid is not None:
        counted = counted * valid.unsqueeze(-1)
    zeros = torch.zeros(num_experts, dtype=torch.float32, device=index.device)
    return zeros.scatter_add(0, index.flatten(), counted.flatten())


def balanced_bias(bias: Tensor, load: Tensor, rate: float) -> Tensor:
    """Raise the bias of experts below the mean load, lower that of others (wang2024).

    The step, rate * sign(mean load - load), is centred: the mean of the biases stays what it was.

    Shape:
        bias (expert,), load (expert,) -> (expert,).

    Example:
        >>> balanced_bias(torch.zeros(4), torch.tensor([9.0, 1.0, 1.0, 1.0]), 0.5)
        tensor([-0.7500,  0.2500,  0.2500,  0.2500])
    """
    step = rate * (load.mean() - load).sign().to(bias.dtype)
    return bias + step - step.mean()
