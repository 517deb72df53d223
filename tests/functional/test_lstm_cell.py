import torch
from torch import nn
from torch.testing import assert_close

from wug.functional.lstm_cell import lstm_cell


def test_equals_torchs_cell():
    cell = nn.LSTMCell(3, 5, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    for parameter in cell.parameters():
        nn.init.normal_(parameter, generator=generator)
    x, hidden, memory = (torch.randn(2, n, generator=generator).double() for n in (3, 5, 5))
    gates = x @ cell.weight_ih.T + cell.bias_ih + hidden @ cell.weight_hh.T + cell.bias_hh
    assert_close(lstm_cell(gates, memory), cell(x, (hidden, memory)))
