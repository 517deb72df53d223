"""Where a Ray cluster is looked for, and what one in this process is told not to do."""

import os
import sys
from importlib.util import find_spec

import pytest

from wug.core.errors import UserError
from wug.training.ray_cluster import EVERYWHERE, OWN, Cluster, connect, load_ray

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'wug[ray]'")


@needs_ray
@pytest.mark.parametrize("address", ["nowhere.invalid:1", "127.0.0.1:1", "ray://127.0.0.1:1", "x"])
def test_an_address_without_a_cluster_is_one_sentence(address: str) -> None:
    with pytest.raises(UserError, match=f"no Ray cluster at '{address}': .*") as raised:
        connect(load_ray(), Cluster(address=address))
    assert "\n" not in str(raised.value)


def test_without_ray_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'wug\[ray\]'"):
        load_ray()


@pytest.mark.parametrize("address", ["ray", "auto", "head:6379"])
def test_only_a_cluster_of_ours_is_told_what_not_to_gather(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of others keeps its metrics, events and logs; what a person has set stays."""
    own = {"RAY_worker_niceness": "7"}
    monkeypatch.setattr(os, "environ", own)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError):
        load_ray(address)
    expected = {**EVERYWHERE, **(OWN if address == "ray" else {}), "RAY_worker_niceness": "7"}
    assert own == expected
