"""A unit inside a network: learn what digits are worth from sums of two, then add up twenty."""

import torch
from sklearn.datasets import load_digits
from torch import nn

import wug

torch.manual_seed(0)
pictures, digits = (torch.tensor(a, dtype=torch.float32) for a in load_digits(return_X_y=True))
reader = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))  # a picture's number
adder = wug.units.NAU(2, 1)  # adds it to what there is so far
network = nn.ModuleDict({"reader": reader, "adder": adder})
optimiser = torch.optim.Adam(network.parameters(), 2e-3)


def error_of(places):
    total = torch.zeros(len(places), 1)
    for x in pictures[places].unbind(1):
        total = adder(torch.cat((reader(x / 16), total), -1))
    return total - digits[places].sum(1, keepdim=True)


for step in range(3_000):
    loss = error_of(torch.randint(1_400, (64, 2))).square().mean()  # the others are for the test
    if step > 1_500:  # first find the digits, then decide the weights
        loss = loss + 10 * wug.penalty(network)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    wug.project_(network)  # weights of the unit stay in [-1, 1]
print("the unit:", *adder.formula(["digit", "total"]))
off = error_of(torch.randint(1_400, len(digits), (500, 20))).abs().mean()
print(f"the sum of twenty digits is off by {off:.1f} on average")
