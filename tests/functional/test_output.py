from wug.functional.output import Output


def test_every_output_has_dicts_of_its_own():
    first, second = Output(1), Output(2)
    first.terms["halting"] = 3
    assert second.terms == {} and second.statistics == {} and second.state is None
