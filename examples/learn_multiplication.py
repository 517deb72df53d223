"""Learn a * b from examples in a plain PyTorch loop, and read the formula off the weights.

Of three inputs the target uses two. The unit is trained on numbers between -2 and 2 only; what it
has learnt holds for any numbers.

    python examples/learn_multiplication.py
"""

import torch

from wug.units.nmu import NMU

STEPS = 1_000

generator = torch.Generator().manual_seed(0)
unit = NMU(3, 1, generator=generator)
params = dict(unit.named_parameters())
optimiser = torch.optim.Adam(unit.parameters(), lr=2e-3)

print(f"before: {unit.formula(['a', 'b', 'c'])[0].evalf(2)}")
for step in range(STEPS):
    x = 4 * torch.rand(128, 3, generator=generator) - 2
    error = (unit(x)[:, 0] - x[:, 0] * x[:, 1]).square().mean()
    # The penalty pulls weights to 0 and 1; it waits until they lean to one side.
    pull = 0.1 if step > STEPS // 2 else 0.0
    optimiser.zero_grad()
    (error + pull * unit.penalty(params)).backward()
    optimiser.step()
    with torch.no_grad():  # weights stay in [0, 1]
        for name, value in unit.project(params).items():
            params[name].copy_(value)
    if step % 200 == 0:
        print(f"step {step:5}  error {error.item():.1e}")
print(f"after:  {unit.formula(['a', 'b', 'c'])[0].evalf(2)}")
print(f"-30 * 70 = {unit(torch.tensor([-30.0, 70.0, 123.0])).item():.1f}")
