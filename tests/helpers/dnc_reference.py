"""The differentiable neural computer again, slowly: one row, one cell, one head after the other.

Written from csordas2023's appendix A.1, with a sorted free list and powers where the package has
comparisons and logarithms.
"""

import torch
from torch.nn.functional import softplus

EPSILON = 1e-6


def cosine(u, v):
    return u @ v / (torch.linalg.vector_norm(u) * torch.linalg.vector_norm(v) + EPSILON)


def look_up(memory, key, strength, mask):
    scores = strength * torch.stack([cosine(key * mask, cell * mask) for cell in memory])
    powers = (scores - scores.max().detach()).exp()
    return powers / powers.sum()


def free_list(usage):
    """Return how much each cell is offered: least used first, of equals the first."""
    order = sorted(range(len(usage)), key=lambda cell: (usage[cell].item(), cell))
    offered, product = [None] * len(usage), usage.new_ones(())
    for cell in order:
        offered[cell] = (1 - usage[cell]) * product
        product = product * usage[cell]
    return torch.stack(offered)


def sharpen(weights, sharpness):
    shifted = weights + EPSILON
    powers = (shifted / shifted.max()) ** sharpness
    return powers / powers.sum()


def memory_step(layer, xi, state):
    """Do one step for one row; ``xi`` are its interface values in the order of equation A.1."""
    size, heads, cells = layer.word_features, layer.num_reads, layer.num_cells
    if layer.version == "as_published":
        xi = xi.clamp(-20, 20)
    position = 0

    def take(number):
        nonlocal position
        position += number
        return xi[position - number : position]

    read_keys = [take(size) for _ in range(heads)]
    read_strengths = [1 + softplus(take(1)) for _ in range(heads)]
    write_key, write_strength = take(size), 1 + softplus(take(1))
    erase, write_vector = take(size).sigmoid(), take(size)
    free = [take(1).sigmoid() for _ in range(heads)]
    allocation_gate, write_gate = take(1).sigmoid(), take(1).sigmoid()
    modes = [take(3).softmax(0) for _ in range(heads)]
    floor, ones = layer.mask_floor, xi.new_ones(size)
    masks = [
        take(size).sigmoid() * (1 - floor) + floor if layer.masking else ones
        for _ in range(heads + 1)
    ]
    sharpness = [1 + softplus(take(1)) if layer.sharpening else None for _ in range(2 * heads)]
    assert position == len(xi)

    kept = []
    for cell in range(cells):
        share = xi.new_ones(())
        for head in range(heads):
            share = share * (1 - free[head].squeeze() * state["read_weights"][head][cell])
        kept.append(share)
    before, written = state["usage"], state["write_weights"]
    if layer.version == "as_published":
        written = written.detach()
    usage = torch.stack(
        [(before[i] + written[i] - before[i] * written[i]) * kept[i] for i in range(cells)]
    )
    listed = usage * (1 - EPSILON) + EPSILON if layer.version == "as_published" else usage
    allocation = free_list(listed)
    content = look_up(state["memory"], write_key, write_strength, masks[0])
    write = write_gate * (allocation_gate * allocation + (1 - allocation_gate) * content)

    rows = []
    for cell in range(cells):
        row = state["memory"][cell] * (1 - write[cell] * erase)
        row = row * kept[cell] if layer.deallocation else row
        rows.append(row + write[cell] * write_vector)
    memory = torch.stack(rows)

    links = []
    for i in range(cells):
        row = []
        for j in range(cells):
            old = (1 - write[i] - write[j]) * state["links"][i][j]
            row.append((old + write[i] * state["precedence"][j]) * (0.0 if i == j else 1.0))
        links.append(torch.stack(row))
    links = torch.stack(links)
    precedence = (1 - write.sum()) * state["precedence"] + write

    read_weights = []
    for head in range(heads):
        last = state["read_weights"][head]
        forward = torch.stack([links[i] @ last for i in range(cells)])
        backward = torch.stack([links[:, i] @ last for i in range(cells)])
        if layer.sharpening:
            forward = sharpen(forward, sharpness[head])
            backward = sharpen(backward, sharpness[heads + head])
        content = look_up(memory, read_keys[head], read_strengths[head], masks[1 + head])
        mode = modes[head]
        read_weights.append(mode[0] * backward + mode[1] * content + mode[2] * forward)
    words = [sum(w[cell] * memory[cell] for cell in range(cells)) for w in read_weights]
    after = {
        "memory": memory, "usage": usage, "precedence": precedence, "links": links,
        "write_weights": write, "read_weights": torch.stack(read_weights),
    }  # fmt: skip
    return torch.cat(words), after


def empty_memory(layer):
    return {name: value[0] for name, value in layer.initial_state(1)._asdict().items()}


def run_memory(layer, interface):
    """Return what is read for interface values (batch, step, control)."""
    answers = []
    for row in interface:
        state, reads = empty_memory(layer), []
        for xi in row:
            read, state = memory_step(layer, xi, state)
            reads.append(read)
        answers.append(torch.stack(reads))
    return torch.stack(answers)


def run_dnc(model, x):
    """Return the answers of a network with an LSTM or a feed-forward controller."""
    answers, size = [], model.controller_features
    weights = list(zip(model.layer_weights, model.layer_biases, strict=True))
    for row in x:
        state, outputs = empty_memory(model.memory), []
        reads = row.new_zeros(model.memory.out_features)
        hidden = [row.new_zeros(size) for _ in weights]
        cells = [row.new_zeros(size) for _ in weights]
        for one in row:
            below = []
            for layer, (weight, bias) in enumerate(weights):
                if model.controller == "lstm":
                    seen = torch.cat([one, reads, *below, hidden[layer]])
                    i, f, g, o = (weight @ seen + bias).chunk(4)
                    cells[layer] = f.sigmoid() * cells[layer] + i.sigmoid() * g.tanh()
                    hidden[layer] = o.sigmoid() * cells[layer].tanh()
                else:
                    seen = below[0] if below else torch.cat([one, reads])
                    hidden[layer] = (weight @ seen + bias).clamp(min=0)
                below = [hidden[layer]]
            output = torch.cat(hidden) if model.controller == "lstm" else hidden[-1]
            xi = model.memory.weight @ output + model.memory.bias
            reads, state = memory_step(model.memory, xi, state)
            outputs.append(model.weight @ output + model.weight_reads @ reads + model.bias)
        answers.append(torch.stack(outputs))
    return torch.stack(answers)
