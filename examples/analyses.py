"""Four arguments about arithmetic units, as numbers and pictures.

Why products of powers are hard to learn (madsen2020, figure 2), how good the theory of their first
outputs is (figure 5), why NAC+'s second parameter gets no signal (Eq. 4), and what the gate of a
power unit changes (heim2020, figure 3). Pictures go to the folder that you name, or to this one.

    python examples/analyses.py pictures
"""

import sys
from itertools import groupby
from pathlib import Path

import numpy as np
import torch

from wug.analysis.expected_gradient import (
    expected_factors,
    sampled_gradients,
    squared_error_gradient,
)
from wug.analysis.loss_surface import nac_surface, nmu_surface
from wug.analysis.moments.approximation_error import approximation_error, exact_mean, sampled_mean
from wug.analysis.relevance_gate import example_inputs, flat_share, gradient_norms
from wug.report.heatmap import colour

SIDE, GAP, HEAD = 200, 20, 50


def draw(name, title, panels, low, high):
    """Write grids of numbers as an SVG, dark at low and bright at high; row 0 is at the bottom."""
    parts = []
    for place, (label, grid) in enumerate(panels.items()):
        left, (rows, columns) = GAP + place * (SIDE + GAP), np.shape(grid)
        parts.append(f'<text x="{left}" y="{HEAD - 8}">{label}</text>')
        for row, values in enumerate(np.clip((np.asarray(grid) - low) / (high - low), 0, 1)):
            start, y = 0, HEAD + SIDE * (rows - 1 - row) / rows
            for fill, run in groupby(map(colour, values)):
                end = start + len(list(run))
                parts.append(
                    f'<rect x="{left + SIDE * start / columns:.2f}" y="{y:.2f}" fill="{fill}" '
                    f'width="{SIDE * (end - start) / columns:.2f}" height="{SIDE / rows:.2f}"/>'
                )
                start = end
    width, height = GAP + len(panels) * (SIDE + GAP), HEAD + SIDE + GAP
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="12" shape-rendering="crispEdges">'
        f'<rect width="100%" height="100%" fill="#ffffff"/><text x="{GAP}" y="20" '
        f'font-weight="600">{title} (dark: {low:g}, bright: {high:g})</text>{"".join(parts)}</svg>',
        encoding="utf-8",
    )


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

print("Loss of (x1 + x2)(x1 + x2 + x3 + x4), all weights of a layer being equal:")
weights = np.linspace(-1.5, 1.5, 61)
surfaces = {f"NAC•, ε = {e:g}": nac_surface(weights, weights, epsilon=e) for e in (1e-7, 0.1, 1)}
surfaces["NMU"] = nmu_surface(weights, weights)
for name, grid in surfaces.items():
    row, column = np.unravel_index(grid.argmax(), grid.shape)
    print(f"  {name:15} at most {grid.max():.3g}, at w1 = {weights[column]:.2f} and "
          f"w2 = {weights[row]:.2f}")  # fmt: skip
draw("loss_surface.svg", "RMS loss over w1 (across) and w2 (up), -1.5 to 1.5", surfaces, 0, 30)

print("Mean of a NAC• factor, second-order theory minus truth:")
for radius, limit in ((0.1, 10.0), (0.5, 10.0), (0.5, 50.0)):
    (error,), truth = approximation_error([radius], [limit])[0], exact_mean(radius, limit)
    mean, deviation = sampled_mean(radius, limit, rng=np.random.default_rng(0))
    print(f"  r_w = {radius}, r_z = {limit:2.0f}: {error:+.4f}; truth {truth:.4f}, "
          f"sampled {mean:.4f} ± {deviation:.4f}")  # fmt: skip
errors = approximation_error(np.linspace(0.01, 0.5, 50), np.linspace(1, 50, 50))
draw("approximation_error.svg", "error over r_w (across) and r_z (up)", {"": errors}, -0.08, 0.01)

print("Gradients of NAC+ at the start, by w_hat and by m_hat:")
for interval in ((-1.0, 1.0), (0.0, 2.0)):
    factors = expected_factors(w_hat=interval)
    print(f"  w_hat from U{interval}: mean factors {factors.w_hat:.3f} and {factors.m_hat:.3f}")
generator = torch.Generator().manual_seed(0)
x = torch.randn(1_000, 4, generator=generator, dtype=torch.float64)
sampled = sampled_gradients(
    x, x[:, 0] + x[:, 1], radius=1.0, samples=20_000, generator=generator
)  # the last two inputs do not matter
for name, (means, deviations) in sampled.items():
    print(f"  {name} for x1 + x2, by input: {[round(value, 3) for value in means.tolist()]}, "
          f"± {deviations.max():.3f}")  # fmt: skip
print(f"  m_hat in theory: {squared_error_gradient(1.0):.3f} for each input, whatever the target")

print("Gradient of a power unit that is to ignore a small second input:")
x = example_inputs(torch.Generator().manual_seed(0))
first, second = torch.linspace(-1, 2.5, 71), torch.linspace(-0.2, 1, 61)
gates = {"no gate": None, "g = (0.5, 0.5)": (0.5, 0.5), "g = (1, 0)": (1.0, 0.0)}
norms = {name: gradient_norms(x, first, second, gate=gate) for name, gate in gates.items()}
for name, grid in norms.items():
    print(f"  {name:14} below 0.01 on {flat_share(grid):.1%} of the grid, at most {grid.max():.3g}")
draw("relevance_gate.svg", "size of the gradient over w1 (across) and w2 (up)", norms, 0, 2.5)
