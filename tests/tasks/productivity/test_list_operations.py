from statistics import median

import numpy as np
import pytest

from wug.sources.forests import ForestGrower
from wug.sources.tree_rules import operand_rules
from wug.tasks.productivity._list_operations import MAX, MED, MIN, SM, apply, evaluate


def slow(node, operands, operators, digits):
    """Value and dependency depth of a node, straight from the definition."""
    if node not in operands:
        return digits[node], 0
    below = [slow(one, operands, operators, digits) for one in operands[node]]
    values = [value for value, _ in below]
    operator = operators[node]
    if operator == MIN:
        needed = [values.index(min(values))]
    elif operator == MAX:
        needed = [values.index(max(values))]
    elif operator == MED:
        places = sorted(range(len(values)), key=lambda place: (values[place], place))
        middle = len(places) // 2
        needed = places[middle : middle + 1] if len(places) % 2 else places[middle - 1 : middle + 1]
    else:
        needed = range(len(values))
    result = sum(values[place] for place in needed)
    result = result % 10 if operator == SM else result // len(needed)
    return result, 1 + max(below[place][1] for place in needed)


def test_equals_the_definition():
    rng = np.random.default_rng(0)
    forest = ForestGrower(operand_rules(0.3, range(1, 7)), "operand").grow(3_000, rng, 2, 80)
    digits = rng.integers(10, size=len(forest.arities), dtype=np.int8)
    operators = rng.integers(MIN, SM + 1, size=len(digits), dtype=np.int8)
    values, depths = evaluate(forest.operations, operators, digits)
    operands = {
        node: [one for one in row if one >= 0]
        for nodes, rows in forest.operations
        for node, row in zip(nodes.tolist(), rows.tolist(), strict=True)
    }
    for root in range(forest.num_trees):
        assert (values[root], depths[root]) == slow(root, operands, operators, digits.tolist())
    assert depths.max() >= 5


@pytest.mark.parametrize(
    ("operator", "function"),
    [
        (MIN, min),
        (MAX, max),
        (MED, lambda digits: int(median(digits))),
        (SM, lambda digits: sum(digits) % 10),
    ],
)
def test_one_list(operator, function):
    rng = np.random.default_rng(0)
    for _ in range(200):
        digits = rng.integers(10, size=rng.integers(1, 8)).tolist()
        assert apply(operator, digits) == function(digits)
