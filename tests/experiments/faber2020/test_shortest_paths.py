"""Shortest paths: all columns are trained on the same graphs."""

from wug.core import index
from wug.study.experiment import RunOptions


def test_columns_differ_in_the_test_alone():
    lots = index.get("experiment", "faber2020.shortest_paths")(RunOptions()).lots
    tasks = [lot.task for lot in lots]
    assert [task.times for task in tasks] == [1, 10, 100]
    assert len({(task.num_nodes, task.largest) for task in tasks}) == 1
    assert len({tuple(lot.key(lot.variants[0]).tolist()) for lot in lots}) == 1
