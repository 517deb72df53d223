"""What every experiment trains at every scale is what it was: records stay comparable.

A hash covers the settings and, of each lot, its name, seeds, labels and configurations. Where a
change is meant, it also needs a new data edition or other settings, or old records would be
continued by other trainings. `python tests/experiments/test_frozen.py` writes the hashes anew.
"""

import json
from pathlib import Path

import pytest

from wug.core import index
from wug.records import config_hash
from wug.study.experiment import RunOptions

FROZEN = Path(__file__).parents[1] / "fixtures" / "experiments.json"
SCALES = ("smoke", "laptop", "paper")


def fingerprint(key, scale):
    """Return the hash of all that an experiment trains at a scale; the order of lots is free."""
    experiment = index.get("experiment", key)(RunOptions(scale=scale))
    lots = {
        lot.name: {
            "seeds": list(lot.seeds),
            "variants": [{"labels": v.labels, "config": v.config} for v in lot.variants],
        }
        for lot in experiment.lots
    }
    assert len(lots) == len(experiment.lots), "lots need names of their own"
    return config_hash({"settings": experiment.settings, "lots": lots})


def fingerprints():
    """Return the hashes of all experiments at all scales."""
    keys = [entry.key for entry in index.entries("experiment")]
    return {key: {scale: fingerprint(key, scale) for scale in SCALES} for key in keys}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("key", [entry.key for entry in index.entries("experiment")])
def test_trainings_are_what_they_were(key, scale):
    frozen = json.loads(FROZEN.read_text(encoding="utf-8"))
    assert fingerprint(key, scale) == frozen[key][scale]


if __name__ == "__main__":
    FROZEN.write_text(json.dumps(fingerprints(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
