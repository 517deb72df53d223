"""The memory of a differentiable neural computer (Graves et al., 2016; Csordás, 2019).

Cells are written where they are free or where their content matches, and read by their content or
in the order in which they were written. Three switches mend what the first version gets wrong:
masks for look-ups, erasing of cells that are freed, and sharpening of blurred links.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.memory_addressing import (
    EPSILON,
    allocation_weights,
    content_weights,
    oneplus,
    retention,
    sharpened,
    updated_links,
    weigh,
)
from wug.functional.output import Output
from wug.functional.step_inputs import step_inputs

# As in csordas2023's code.
CLAMP = 20.0
NUM_MODES = 3


class MemoryState(NamedTuple):
    """What the memory carries from one step to the next; never changed in place.

    Shape:
        memory (batch, cell, word); usage, precedence and write_weights (batch, cell); links
        (batch, cell, cell); read_weights (batch, head, cell).
    """

    memory: Tensor
    usage: Tensor
    precedence: Tensor
    links: Tensor
    write_weights: Tensor
    read_weights: Tensor


class Controls(NamedTuple):
    """What the memory is told in one step, within the bounds of each part.

    Shape:
        Keys, masks, erase and write_vector (batch, word), with a head axis for those of reads;
        gates and strengths (batch,) or (batch, head); read_modes (batch, head, 3): backward,
        content, forward.
    """

    read_keys: Tensor
    read_strengths: Tensor
    write_key: Tensor
    write_strength: Tensor
    erase: Tensor
    write_vector: Tensor
    free_gates: Tensor
    allocation_gate: Tensor
    write_gate: Tensor
    read_modes: Tensor
    write_mask: Tensor | None
    read_masks: Tensor | None
    forward_sharpness: Tensor | None
    backward_sharpness: Tensor | None


@register(
    "layer",
    name="DNC memory",
    references=("graves2016", "csordas2019", "csordas2023"),
    equation=r"\begin{aligned} M_t &= M_{t-1} \odot \psi_t \mathbb{1}^\top \odot (E - w^w_t "
    r"e_t^\top) + w^w_t v_t^\top, \quad w^w_t = g^w_t (g^a_t a_t + (1 - g^a_t) c^w_t), \\ "
    r"r^i_t &= M_t^\top w^{r,i}_t, \quad w^{r,i}_t = \pi^i_t[1]\, S(L_t^\top w^{r,i}_{t-1}, "
    r"s^{b,i}_t) + \pi^i_t[2]\, c^{r,i}_t + \pi^i_t[3]\, S(L_t w^{r,i}_{t-1}, s^{f,i}_t) "
    r"\end{aligned}",
    failure_modes=(
        "Without erasing, freed cells are still found by content (csordas2023, section 2.2).",
        "Without sharpening, links blur with every write and are hardly used (csordas2023, figure "
        "2.4); where reads need no order, sharpening costs accuracy (section 2.3.2).",
        "Links take memory and time quadratic in the number of cells.",
    ),
    interface="steps",
)
class DNCMemory(nn.Module):
    """External memory with content look-up, allocation and temporal links.

    Equation (csordas2023, Eqs. A.1-A.12): xi = W_xi h says what to do; psi = prod_i (1 - f^i w^r,i)
    is kept; u = (u + w^w - u w^w) psi; w^w = g^w (g^a a + (1 - g^a) c^w); M = M psi (1 - w^w e^T) +
    w^w v^T; w^r,i = pi_1 b^i + pi_2 c^i + pi_3 f^i; r^i = M^T w^r,i.

    Notation:
        W_xi -> weight, bias; M -> memory, u -> usage, p -> precedence, L -> links, w^w ->
        write_weights, w^r -> read_weights, psi -> retention, a -> allocation, delta -> mask_floor;
        DNC-M, -D, -S -> masking, deallocation, sharpening; parts of xi -> `Controls`.

    Departures:
        The interface map has a bias, of 1 for masks: the text suggests the latter and prints no
        bias. ``version="as_published"`` is the code: all biases start at 0, interface values are
        clamped to +-20, usage lies in [epsilon, 1] where cells are allocated, and no gradient flows
        from usage to the write that caused it. Both start Xavier-uniform, as the code does.

    Args:
        in_features: Number of features that the memory is told what to do with.
        num_cells: Number of cells: N.
        word_features: Size of a cell: W.
        num_reads: Number of read heads: R.
        masking: Whether look-ups have masks (M).
        deallocation: Whether cells that are freed are erased (D).
        sharpening: Whether links are sharpened (S).
        mask_floor: The least value of a mask.
        version: ``"text"`` or ``"as_published"``.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, in_features) -> answer (batch, seq, num_reads * word_features).

    Raises:
        UserError: For sizes below 1, a floor outside [0, 1) or an unknown version.

    Example:
        >>> layer = DNCMemory(8, num_cells=5, word_features=4, num_reads=2)
        >>> x = torch.ones(3, 7, 8)
        >>> whole, first = layer(x), layer(x[:, :2])
        >>> rest = layer(x[:, 2:], state=first.state)
        >>> torch.allclose(torch.cat((first.answer, rest.answer), 1), whole.answer)
        True

    References:
        graves2016, csordas2019, csordas2023
    """

    def __init__(
        self,
        in_features: int,
        *,
        num_cells: int = 16,
        word_features: int = 16,
        num_reads: int = 1,
        masking: bool = True,
        deallocation: bool = True,
        sharpening: bool = True,
        mask_floor: float = 0.0,
        version: Literal["text", "as_published"] = "text",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in {
            "in_features": in_features,
            "num_cells": num_cells,
            "word_features": word_features,
            "num_reads": num_reads,
        }.items():
            require_at_least("DNCMemory", name, size, 1)
        require_choice("DNCMemory", "version", version, ("text", "as_published"))
        if not 0 <= mask_floor < 1:
            raise UserError(f"DNCMemory: mask_floor must be in [0, 1); got {mask_floor}.")
        self.in_features, self.out_features = in_features, num_reads * word_features
        self.num_cells, self.word_features, self.num_reads = num_cells, word_features, num_reads
        self.masking, self.deallocation, self.sharpening = masking, deallocation, sharpening
        self.mask_floor, self.version = mask_floor, version
        num_controls = sum(self.control_sizes().values())
        self.weight = nn.Parameter(
            torch.empty(num_controls, in_features, device=device, dtype=dtype)
        )
        self.bias = nn.Parameter(self.weight.new_empty(num_controls))
        self.reset_parameters(generator)

    def control_sizes(self) -> dict[str, int]:
        """Return how many numbers each part of the interface has, in their order."""
        word, reads = self.word_features, self.num_reads
        sizes = {
            "read_keys": reads * word, "read_strengths": reads, "write_key": word,
            "write_strength": 1, "erase": word, "write_vector": word, "free_gates": reads,
            "allocation_gate": 1, "write_gate": 1, "read_modes": NUM_MODES * reads,
        }  # fmt: skip
        if self.masking:
            sizes |= {"write_mask": word, "read_masks": reads * word}
        if self.sharpening:
            sizes |= {"forward_sharpness": reads, "backward_sharpness": reads}
        return sizes

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = xavier_bound(self.in_features, len(self.weight))
        fill_uniform(self.weight, -bound, bound, generator)
        nn.init.zeros_(self.bias)
        if self.masking and self.version == "text":
            sizes = self.control_sizes()
            parts = dict(zip(sizes, self.bias.split(list(sizes.values())), strict=True))
            nn.init.ones_(parts["write_mask"])
            nn.init.ones_(parts["read_masks"])

    def initial_state(self, rows: int) -> MemoryState:
        """Return an empty memory for each row."""
        cells, heads = self.num_cells, self.num_reads

        def zeros(*shape: int) -> Tensor:
            return self.weight.new_zeros(rows, *shape)

        return MemoryState(
            memory=zeros(cells, self.word_features), usage=zeros(cells), precedence=zeros(cells),
            links=zeros(cells, cells), write_weights=zeros(cells), read_weights=zeros(heads, cells),
        )  # fmt: skip

    def controls(self, interface: Tensor) -> Controls:
        """Cut the interface values into their parts and bring each within its bounds.

        Shape:
            (batch, as many as `control_sizes` sum up to) -> see `Controls`.
        """
        if self.version == "as_published":
            interface = interface.clamp(-CLAMP, CLAMP)
        sizes = self.control_sizes()
        part = dict(zip(sizes, interface.split(list(sizes.values()), -1), strict=True))
        heads = (self.num_reads, -1)
        sharpness = {
            name: oneplus(part[name]) if self.sharpening else None
            for name in ("forward_sharpness", "backward_sharpness")
        }
        return Controls(
            read_keys=part["read_keys"].unflatten(-1, heads),
            read_strengths=oneplus(part["read_strengths"]),
            write_key=part["write_key"],
            write_strength=oneplus(part["write_strength"].squeeze(-1)),
            erase=part["erase"].sigmoid(),
            write_vector=part["write_vector"],
            free_gates=part["free_gates"].sigmoid(),
            allocation_gate=part["allocation_gate"].squeeze(-1).sigmoid(),
            write_gate=part["write_gate"].squeeze(-1).sigmoid(),
            read_modes=part["read_modes"].unflatten(-1, heads).softmax(-1),
            write_mask=self.mask(part["write_mask"]) if self.masking else None,
            read_masks=self.mask(part["read_masks"]).unflatten(-1, heads) if self.masking else None,
            **sharpness,
        )

    def mask(self, logits: Tensor) -> Tensor:
        """Return masks between the floor and 1."""
        return logits.sigmoid() * (1 - self.mask_floor) + self.mask_floor

    def access(
        self, controls: Controls, state: MemoryState
    ) -> tuple[Tensor, MemoryState, dict[str, Tensor]]:
        """Write, then read: the words that were read, the next state, and what happened inside.

        Shape:
            -> words (batch, head, word).
        """
        kept = retention(state.read_weights, controls.free_gates)
        last_write, floor = state.write_weights, 0.0
        if self.version == "as_published":
            last_write, floor = last_write.detach(), EPSILON
        usage = (state.usage + last_write - state.usage * last_write) * kept
        allocation = allocation_weights(usage, floor)

        write_mask = None if controls.write_mask is None else controls.write_mask.unsqueeze(-2)
        write_content = content_weights(
            state.memory,
            controls.write_key.unsqueeze(-2),
            controls.write_strength.unsqueeze(-1),
            write_mask,
        ).squeeze(-2)
        gate = controls.allocation_gate.unsqueeze(-1)
        write_weights = controls.write_gate.unsqueeze(-1) * (
            gate * allocation + (1 - gate) * write_content
        )

        where = write_weights.unsqueeze(-1)
        share = 1 - where * controls.erase.unsqueeze(-2)
        if self.deallocation:
            share = share * kept.unsqueeze(-1)
        memory = state.memory * share + where * controls.write_vector.unsqueeze(-2)

        links = updated_links(state.links, state.precedence, write_weights)
        precedence = (1 - write_weights.sum(-1, keepdim=True)) * state.precedence + write_weights

        forward = weigh(state.read_weights, links.mT)
        backward = weigh(state.read_weights, links)
        if controls.forward_sharpness is not None and controls.backward_sharpness is not None:
            forward = sharpened(forward, controls.forward_sharpness)
            backward = sharpened(backward, controls.backward_sharpness)
        read_content = content_weights(
            memory, controls.read_keys, controls.read_strengths, controls.read_masks
        )
        by_backward, by_content, by_forward = controls.read_modes.split(1, -1)
        read_weights = by_backward * backward + by_content * read_content + by_forward * forward
        after = MemoryState(memory, usage, precedence, links, write_weights, read_weights)
        inside = {
            "retention": kept, "allocation": allocation, "write_content": write_content,
            "forward_links": forward, "backward_links": backward, "read_content": read_content,
        }  # fmt: skip
        return weigh(read_weights, memory), after, inside

    def step(self, x: Tensor, state: MemoryState) -> tuple[Tensor, MemoryState, dict[str, Tensor]]:
        """Do one step: what was read, the next state, and what happened inside.

        Shape:
            x (batch, in_features) -> (batch, num_reads * word_features).
        """
        controls = self.controls(F.linear(x, self.weight, self.bias))
        words, after, inside = self.access(controls, state)
        told = {name: value for name, value in controls._asdict().items() if value is not None}
        return words.flatten(-2), after, inside | told

    def forward(self, x: Tensor, *, state: MemoryState | None = None) -> Output:
        """Return what is read in every step, and the state after the last."""
        state = self.initial_state(len(x)) if state is None else state
        reads = []
        for one in step_inputs("DNCMemory", x, self.in_features, None).unbind(1):
            read, state, _ = self.step(one, state)
            reads.append(read)
        return Output(torch.stack(reads, 1), state=state)

    def trace(self, x: Tensor, state: MemoryState | None = None) -> dict[str, Tensor]:
        """Return everything that happens, by name, with the steps on axis 1."""
        state = self.initial_state(len(x)) if state is None else state
        steps: list[dict[str, Tensor]] = []
        for one in step_inputs("DNCMemory", x, self.in_features, None).unbind(1):
            read, state, inside = self.step(one, state)
            steps.append(inside | state._asdict() | {"output": read})
        return {name: torch.stack([step[name] for step in steps], 1) for name in steps[0]}
