import torch

from wug.functional.output import Output


def test_parts_of_an_output_are_its_own():
    first, second = Output(torch.ones(2)), Output(torch.ones(2))
    first.terms["entropy"] = torch.ones(())
    first.statistics["load"] = torch.ones(3)
    assert second.terms == second.statistics == {}
    assert second.state is None
