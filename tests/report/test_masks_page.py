"""The page of masks, from plain data."""

from wug.report.masks_page import masks_html, percent

FOUND = {
    "functions": ["a", "<b>"], "num_seeds": 2, "num_weights": 10,
    "counts": {"a": 2.0, "<b>": 5.0}, "full": {"a": 1.0, "<b>": 0.9},
    "matrix": {"a": {"a": 1.0, "<b>": 0.1}, "<b>": {"a": 0.25, "<b>": 0.8}},
    "inverse": {"a": {"a": 0.0, "<b>": 0.9}, "<b>": {"a": 0.5, "<b>": 0.0}},
    "specialise": {"value": 0.75, "low": 0.7, "high": 0.8},
    "reuse": {"value": 0.25, "low": None, "high": None},
    "sharing": {"a": {"w": 0.5, "v": float("nan")}, "<b>": {"w": 0.2, "v": 0.0}},
    "layers": {"w": 6, "v": 4}, "shares": [0.0, 1.0],
    "curves": {"a": [0.0, 1.0], "random": [0.0, 1.0]}, "areas": {"a": 0.5, "random": 0.5},
    "overlaps": {"a, <b>": {"iou": 0.125, "io_min": 0.375}},
    "controls": {"a": {"shuffled": 0.1, "seed_iou": 0.95}, "<b>": {"shuffled": 0.125}},
}  # fmt: skip


def test_shows_matrix_controls_and_sharing():
    page = masks_html(FOUND)
    assert "<b>" not in page and "&lt;b&gt;" in page
    for text in ("75.0 %", "70.0 to 80.0", "12.5", "95.0", "mask of shuffled labels", "<polyline",
                 "37.5", "IoMin"):  # fmt: skip
        assert text in page
    assert page.count('<rect class="bar"') == 4


def test_one_function_without_controls():
    page = masks_html({
        **FOUND, "functions": ["a"], "specialise": None, "reuse": None, "sharing": {},
        "controls": {"a": {}}, "curves": {},
    })  # fmt: skip
    assert page.count("None of these controls") == 2 and "<polyline" not in page


def test_percent():
    assert percent(float("nan")) == "–" and percent(1) == "100.0"
