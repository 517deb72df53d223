"""Differentiable neural computer (Graves et al., 2016), improved (Csordás, 2019).

A controller, recurrent or not, that reads and writes an external memory in every step.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform, xavier_bound
from wug.functional.lstm_cell import lstm_cell
from wug.functional.output import Output
from wug.functional.sequence_ends import column_at
from wug.functional.step_inputs import step_inputs
from wug.layers.dnc_memory import DNCMemory, MemoryState

# Of the candidate's weights, for tanh, as in csordas2023's code.
TANH_GAIN = 5 / 3


class DNCState(NamedTuple):
    """What a network carries from one step to the next; never changed in place.

    Shape:
        hidden and cells: one (batch, controller_features) for each layer of an LSTM, none for a
        feed-forward controller; reads (batch, num_reads * word_features).
    """

    hidden: tuple[Tensor, ...]
    cells: tuple[Tensor, ...]
    reads: Tensor
    memory: MemoryState


@register(
    "model",
    name="DNC",
    references=("graves2016", "csordas2019", "csordas2023"),
    equation=r"h_t = \mathrm{controller}([x_t; r_{t-1}]), \qquad r_t = \mathrm{memory}(h_t), "
    r"\qquad y_t = V h_t + W_r r_t + d",
    failure_modes=(
        "Without erasing and sharpening, a long repeat copy stays blurry (csordas2023, figure "
        "2.3); without masks, associative recall is learned more slowly (figure 2.2).",
        "bAbI's tasks 16, 17 and 19 stay unsolved in every variant (csordas2023, table 2.1).",
    ),
    interface="steps",
)
class DNC(nn.Module):
    """Controller with an external memory: an answer in every step.

    Equation (csordas2023, appendix A.1): h_t = controller([x_t; r_{t-1}]), r_t = memory(h_t), y_t =
    V h_t + W_r r_t + d.

    Notation:
        V -> weight, W_r -> weight_reads, d -> bias, S -> controller_features.

    Departures:
        The text's last equation prints v_t, the write vector, where a linear map of h_t is meant.
        Of the first weights it names the biases of masks alone; all others are the code's: every
        layer of an LSTM sees the input, the reads and the layer below, all layers are read, maps
        start Xavier-uniform, candidates 5/3 of that, forget gates with a bias of 1. Rectifiers in
        feed-forward controllers are ours: the text does not say. What ``version="as_published"``
        changes, see `DNCMemory`; there the answer has two biases, whose sum is one.

    Args:
        in_features: Number of inputs of a step; with tokens, size of the vocabulary.
        out_features: Number of outputs of a step.
        controller: ``"lstm"`` or ``"feed_forward"``.
        controller_features: Size of each of the controller's layers.
        num_layers: Number of the controller's layers.
        num_cells: Number of cells of the memory: N.
        word_features: Size of a cell: W.
        num_reads: Number of read heads: R.
        masking: Whether look-ups have masks (M).
        deallocation: Whether cells that are freed are erased (D).
        sharpening: Whether links are sharpened (S).
        mask_floor: The least value of a mask; 0.1 in csordas2023's associative recall.
        tokens: Whether inputs are tokens, which are embedded, instead of vectors.
        embedding_features: Size of the embedding of tokens.
        version: ``"text"`` or ``"as_published"``.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, in_features), or tokens (batch, seq), int64 -> answer
        (batch, seq, out_features); with lengths (batch,), int64 -> (batch, out_features).

    Raises:
        UserError: For sizes below 1, an unknown controller or version, or a bad mask_floor.

    Example:
        >>> model = DNC(9, 8, masking=False)
        >>> output = model(torch.ones(2, 5, 9))
        >>> output.answer.shape, output.state.memory.links.shape
        (torch.Size([2, 5, 8]), torch.Size([2, 16, 16]))

    References:
        graves2016, csordas2019, csordas2023
    """

    recurrent = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        controller: Literal["lstm", "feed_forward"] = "lstm",
        controller_features: int = 32,
        num_layers: int = 1,
        num_cells: int = 16,
        word_features: int = 16,
        num_reads: int = 1,
        masking: bool = True,
        deallocation: bool = True,
        sharpening: bool = True,
        mask_floor: float = 0.0,
        tokens: bool = False,
        embedding_features: int = 128,
        version: Literal["text", "as_published"] = "text",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in {
            "in_features": in_features,
            "out_features": out_features,
            "controller_features": controller_features,
            "num_layers": num_layers,
            "embedding_features": embedding_features,
        }.items():
            require_at_least("DNC", name, size, 1)
        require_choice("DNC", "controller", controller, ("lstm", "feed_forward"))
        self.in_features, self.out_features = in_features, out_features
        self.controller, self.controller_features = controller, controller_features
        self.num_layers = num_layers
        all_layers = num_layers * controller_features if controller == "lstm" else None
        self.memory = DNCMemory(
            all_layers or controller_features, num_cells=num_cells, word_features=word_features,
            num_reads=num_reads, masking=masking, deallocation=deallocation, sharpening=sharpening,
            mask_floor=mask_floor, version=version, generator=generator, device=device, dtype=dtype,
        )  # fmt: skip
        empty = self.memory.weight.new_empty
        self.embedding = nn.Parameter(empty(in_features, embedding_features)) if tokens else None
        seen = (embedding_features if tokens else in_features) + self.memory.out_features
        self.layer_weights = nn.ParameterList(
            nn.Parameter(empty(self.num_rows, self.layer_inputs(layer, seen)))
            for layer in range(num_layers)
        )
        self.layer_biases = nn.ParameterList(
            nn.Parameter(empty(self.num_rows)) for _ in range(num_layers)
        )
        self.weight = nn.Parameter(empty(out_features, self.memory.in_features))
        self.weight_reads = nn.Parameter(empty(out_features, self.memory.out_features))
        self.bias = nn.Parameter(empty(out_features))
        self.reset_parameters(generator)

    @property
    def num_rows(self) -> int:
        """Number of rows of a layer's weights: four gates of an LSTM, or the layer itself."""
        return self.controller_features * (4 if self.controller == "lstm" else 1)

    def layer_inputs(self, layer: int, seen: int) -> int:
        """Return how many numbers a layer of the controller sees."""
        if self.controller == "lstm":
            return seen + self.controller_features * (2 if layer else 1)
        return self.controller_features if layer else seen

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        self.memory.reset_parameters(generator)
        if self.embedding is not None:
            fill_normal(self.embedding, 0.0, 1.0, generator)
        size = self.controller_features
        for weight, bias in zip(self.layer_weights, self.layer_biases, strict=True):
            bound = xavier_bound(weight.shape[1], size)
            fill_uniform(weight, -bound, bound, generator)
            nn.init.zeros_(bias)
            if self.controller == "lstm":
                nn.init.ones_(bias[size : 2 * size])
                with torch.no_grad():
                    weight[2 * size : 3 * size] *= TANH_GAIN
        for weight in (self.weight, self.weight_reads):
            bound = xavier_bound(weight.shape[1], weight.shape[0])
            fill_uniform(weight, -bound, bound, generator)
        nn.init.zeros_(self.bias)

    def initial_state(self, rows: int) -> DNCState:
        """Return the state before the first step: everything is 0."""
        zeros = self.weight.new_zeros(rows, self.controller_features)
        layers = (zeros,) * self.num_layers if self.controller == "lstm" else ()
        reads = self.weight.new_zeros(rows, self.memory.out_features)
        return DNCState(layers, layers, reads, self.memory.initial_state(rows))

    def inputs(self, x: Tensor) -> Tensor:
        """Return the vectors of all steps: the inputs, or the embeddings of tokens."""
        return step_inputs("DNC", x, self.in_features, self.embedding)

    def control(
        self, x: Tensor, state: DNCState
    ) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Run the controller: its output, and the outputs and memories of an LSTM's layers."""
        seen = torch.cat((x, state.reads), -1)
        layers = zip(self.layer_weights, self.layer_biases, strict=True)
        if self.controller == "feed_forward":
            for weight, bias in layers:
                seen = F.linear(seen, weight, bias).relu()
            return seen, (), ()
        hidden: list[Tensor] = []
        cells: list[Tensor] = []
        for (weight, bias), own, cell in zip(layers, state.hidden, state.cells, strict=True):
            gates = F.linear(torch.cat((seen, *hidden[-1:], own), -1), weight, bias)
            output, memory = lstm_cell(gates, cell)
            hidden.append(output)
            cells.append(memory)
        return torch.cat(hidden, -1), tuple(hidden), tuple(cells)

    def step(self, x: Tensor, state: DNCState) -> tuple[Tensor, DNCState, dict[str, Tensor]]:
        """Do one step: the answer, the next state, and what happened inside.

        Shape:
            x (batch, in_features), or the embedding of a token -> (batch, out_features).
        """
        output, hidden, cells = self.control(x, state)
        reads, memory, inside = self.memory.step(output, state.memory)
        answer = F.linear(output, self.weight, self.bias) + F.linear(reads, self.weight_reads)
        inside = inside | {"controller": output}
        return answer, DNCState(hidden, cells, reads, memory), inside

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, *, state: DNCState | None = None
    ) -> Output:
        """Return the answer of every step, and the state after the last.

        Args:
            x: Inputs of every step.
            lengths: Where sequences end, to classify them: then the answer of each is that of its
                last step alone. What comes after it, csordas2023's networks see all the same.
            state: The state before the first step; everything is 0 by default.
        """
        state = self.initial_state(len(x)) if state is None else state
        answers = []
        # Else strides would depend on the length, and a compiled step would be compiled for each.
        for one in self.inputs(x).transpose(0, 1).contiguous():
            answer, state, _ = self.step(one, state)
            answers.append(answer)
        answer = torch.stack(answers, 1)
        if lengths is not None:
            answer = column_at(answer, lengths - 1)
        return Output(answer, state=state)

    def trace(self, x: Tensor, state: DNCState | None = None) -> dict[str, Tensor]:
        """Return everything that happens, by name, with the steps on axis 1.

        Returns:
            The parts of `Controls` and `MemoryState`; ``retention``, ``allocation``,
            ``write_content``, ``read_content``, ``forward_links`` and ``backward_links``;
            ``controller``, ``reads`` and ``output``.
        """
        state = self.initial_state(len(x)) if state is None else state
        steps: list[dict[str, Tensor]] = []
        for one in self.inputs(x).unbind(1):
            answer, state, inside = self.step(one, state)
            inside |= state.memory._asdict() | {"reads": state.reads, "output": answer}
            steps.append(inside)
        return {name: torch.stack([step[name] for step in steps], 1) for name in steps[0]}
