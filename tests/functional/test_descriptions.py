import pytest

from wug.core import index


@pytest.mark.parametrize("key", [entry.key for entry in index.entries("unit")])
def test_units_say_their_sizes(key):
    unit = index.get("unit", key)(3, 2)
    assert "in_features=3, out_features=2" in repr(unit)
