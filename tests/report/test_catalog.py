"""Catalogs of any form become catalogs that pages can use."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from wug.report.catalog import clean_catalog

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["key", "rows", "column", "value", "ours", "row_order", "unit"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)
PARTS = ("title", "command", "layout", "published", "claims", "departures", "units")


@given(PLAIN | st.fixed_dictionaries({}, optional=dict.fromkeys(PARTS, PLAIN)))
def test_whatever_is_there_the_parts_are_of_their_form(raw: Any) -> None:
    catalog, complaints = clean_catalog(raw)
    for name in ("published", "claims", "departures", "units"):
        assert isinstance(catalog[name], list)
    for claim in catalog["claims"]:
        assert claim["ours"]["verdict"] in ("held", "broken", "undecided")
        assert claim["statement"]
    assert all(isinstance(text, str) for text in complaints)
    assert isinstance(catalog.get("title", ""), str)


def test_a_good_catalog_is_kept_and_nothing_is_said() -> None:
    layout = {"rows": ["unit"], "column": "range", "row_order": [["nau"]], "column_order": ["a"],
              "measure": "error", "baseline": "nau"}  # fmt: skip
    cell = {"unit": "nau", "range": "a", "error": {"value": 1.0, "plus": None, "minus": None}}
    raw = {"title": "T", "layout": layout, "published": [cell], "departures": ["d"]}
    catalog, complaints = clean_catalog(raw)
    assert complaints == []
    assert catalog["layout"]["row_order"] == [("nau",)]
    assert catalog["layout"]["measure"] == "error" and catalog["layout"]["baseline"] == "nau"
    assert catalog["published"] == [cell]
