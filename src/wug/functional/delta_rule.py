"""The gated delta rule (Yang et al., 2025): a matrix that maps keys to values, mended in each step.

Step by step, and in chunks: within a chunk all steps are solved together, as one triangular system.
"""

from __future__ import annotations

import torch
from torch import Tensor


def delta_rule_steps(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    rates: Tensor,
    log_decays: Tensor,
    memory: Tensor,
) -> tuple[Tensor, Tensor]:
    """Apply the rule one step after the other.

    Equation (yang2025, Eq. 10): S_t = alpha_t S_{t-1} (I - beta_t k_t k_t^T) + beta_t v_t k_t^T,
    o_t = S_t q_t.

    Args:
        queries: q.
        keys: k, of length 1; with rates up to 2 no eigenvalue then leaves [-1, 1].
        values: v.
        rates: beta.
        log_decays: The logarithms of alpha, at most 0.
        memory: S before the first step.

    Returns:
        The outputs o, and S after the last step.

    Shape:
        queries and keys (..., seq, key), values (..., seq, value), rates and log_decays (..., seq),
        memory (..., value, key) -> (..., seq, value) and as memory.

    Example:
        >>> key, value = torch.tensor([[1.0, 0.0]]), torch.tensor([[5.0]])
        >>> one, memory = torch.ones(1), torch.tensor([[3.0, 4.0]])
        >>> delta_rule_steps(key, key, value, one, 0 * one, memory)
        (tensor([[5.]]), tensor([[5., 4.]]))
    """
    outputs = []
    for step in range(keys.shape[-2]):
        query, key, value = (part[..., step, :] for part in (queries, keys, values))
        memory = log_decays[..., step, None, None].exp() * memory
        found = (memory * key.unsqueeze(-2)).sum(-1)
        change = rates[..., step, None] * (value - found)
        memory = memory + change.unsqueeze(-1) * key.unsqueeze(-2)
        outputs.append((memory * query.unsqueeze(-2)).sum(-1))
    return torch.stack(outputs, -2), memory


def delta_rule_chunks(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    rates: Tensor,
    log_decays: Tensor,
    memory: Tensor,
    *,
    chunk: int = 32,
) -> tuple[Tensor, Tensor]:
    """Apply the rule chunk by chunk; arguments and results are those of `delta_rule_steps`.

    Let g be the sum of log decays from the start of the chunk. The changes U of all steps satisfy
    (I + A) U = beta (V - e^g K S^T) with A_ij = beta_i e^(g_i - g_j) k_i k_j below the diagonal.

    Args:
        queries: q.
        keys: k.
        values: v.
        rates: beta.
        log_decays: The logarithms of alpha.
        memory: S before the first step.
        chunk: Number of steps that are solved together.
    """
    outputs = []
    for start in range(0, keys.shape[-2], chunk):
        here = slice(start, start + chunk)
        query, key, value = (part[..., here, :] for part in (queries, keys, values))
        rate, total = rates[..., here, None], log_decays[..., here].cumsum(-1)
        index = torch.arange(key.shape[-2], device=key.device)
        past = index <= index.unsqueeze(-1)
        # Above the diagonal e^(g_i - g_j) could overflow before it is masked.
        gaps = torch.where(past, total.unsqueeze(-1) - total.unsqueeze(-2), 0.0)
        decays = torch.where(past, gaps.exp(), 0.0)
        since = total.exp().unsqueeze(-1)
        system = rate * decays * (key @ key.mT)
        wanted = rate * (value - since * (key @ memory.mT))
        # The diagonal is taken as 1, and nothing above it is read.
        changes = torch.linalg.solve_triangular(system, wanted, upper=False, unitriangular=True)
        outputs.append(since * (query @ memory.mT) + (decays * (query @ key.mT)) @ changes)
        left = decays[..., -1, :].unsqueeze(-1) * changes
        memory = since[..., -1:, :] * memory + left.mT @ key
    return torch.cat(outputs, -2), memory
