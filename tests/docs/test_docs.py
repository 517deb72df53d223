"""The site builds without a warning and without the net, and what it shows is true."""

import html.parser
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from accessibility import complaints
from chromium import chromium

import wug
from wug.cli.cite import bibliography
from wug.cli.main import VERBS
from wug.core import index
from wug.sources.catalog import catalog

ROOT = Path(__file__).parents[2]
MISSING = [name for name in ("mkdocs", "material", "mkdocstrings") if find_spec(name) is None]
# With one, the theme lets the keyboard move code that is wider than the page.
MOUSE = "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4"
needs_mkdocs = pytest.mark.skipif(
    bool(MISSING), reason=f"the docs extra is not installed (no {', '.join(MISSING)})"
)


def run(*command, **environment):
    paths = {"PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT, env=os.environ | paths | environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder, **environment):
    run("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder), **environment)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build(tmp_path_factory.mktemp("site"))


class Loads(html.parser.HTMLParser):
    """Gathers what a browser fetches for a page by itself."""

    def __init__(self):
        super().__init__()
        self.urls = []

    def handle_starttag(self, tag, attrs):
        names = {"link": ("href",), "a": (), "form": ()}.get(tag, ("src", "srcset", "href", "data"))
        if tag == "link" and dict(attrs).get("rel") in ("canonical", "prev", "next"):
            return
        self.urls += [value for name, value in attrs if name in names and value]


@needs_mkdocs
def test_every_experiment_has_a_page_and_every_unit_leads_to_its_own(site):
    for entry in index.entries("unit"):
        page = (site / "units" / f"{entry.key}.html").read_text(encoding="utf-8")
        assert f"url=../example/unit-{entry.key}.html" in page  # an address of before
        assert all(reference in bibliography() for reference in entry.references)
    for entry in index.entries("experiment"):
        assert (site / "experiments" / f"{entry.key}.html").exists()


@needs_mkdocs
def test_every_public_name_is_in_the_reference(site):
    text = "".join(page.read_text("utf-8") for page in (site / "api").glob("*.html"))
    targets = [
        entry.target.replace(":", ".")
        for kind in ("unit", "layer", "model", "task", "analysis")
        for entry in index.entries(kind)
    ]
    functions = [f"{module}.{name}" for name, module in wug._FUNCTIONS.items()]
    assert [name for name in (*targets, *functions) if f'id="{name}"' not in text] == []


@needs_mkdocs
def test_docs_and_results_are_one_site(site):
    results = (site / "example" / "index.html").read_text(encoding="utf-8")
    assert '<a href="../index.html">Docs</a>' in results
    assert 'href="example/index.html"' in (site / "index.html").read_text(encoding="utf-8")
    assert 'src="assets/front.png"' in (site / "index.html").read_text(encoding="utf-8")


def test_pages_are_whole_in_the_repository():
    """What is made of records and code stands in the files: python docs/fill.py writes it."""
    assert run("docs/fill.py", "--check") == "out of date: none\n"


def test_links_of_pages_lead_to_files_of_the_repository():
    missing = []
    for page in [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/experiments/*.md")]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if not re.match(r"https?:|mailto:", target) and not (page.parent / target).exists():
                missing.append(f"{page.name}: {target}")
    assert missing == []


@needs_mkdocs
def test_nothing_is_loaded_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(index.entries("unit"))
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert [url for url in loads.urls if re.match(r"(https?:)?//", url)] == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text("utf-8"))


@needs_mkdocs
def test_markers_are_filled_and_sources_stay_out(site):
    assert not [page for page in site.rglob("*.html") if "<!-- wug:" in page.read_text("utf-8")]
    assert not [*site.rglob("*.py"), *site.rglob("*.pyc")]


@needs_mkdocs
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_everybody_can_read_them(site, width, scheme):
    found = {}
    with chromium("file:", MOUSE) as browser:
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        browser.resize(width, 900)
        for name in ("index", "routing", "command-line", "api/estimators", "which-unit"):
            browser.visit((site / f"{name}.html").as_uri())
            if said := complaints(browser):
                found[name] = said
    assert found == {}


@needs_mkdocs
def test_every_verb_is_described(site):
    page = (site / "command-line.html").read_text(encoding="utf-8")
    assert all(f"usage: wug {verb} " in page for verb in VERBS)


@needs_mkdocs
def test_builds_without_results(tmp_path):
    site = build(tmp_path / "site", WUG_DOCS_RESULTS=str(tmp_path))
    page = (site / "experiments" / "mistry2022.single_module.html").read_text(encoding="utf-8")
    assert "No results yet" in page


def worked_example():
    """Return the files of the worked example in CONTRIBUTING.md, and what its script prints."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', text, re.DOTALL | re.MULTILINE)
    printed = re.search(r"^```text\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return dict(blocks), printed[1]


# Stands in for a checkout with the new file: its folder is one more place of wug.units.
DROPPED_IN = "import runpy, sys, wug.units; wug.units.__path__.append(sys.argv[1]);"


@pytest.fixture
def dropped(tmp_path):
    files, _ = worked_example()
    for name, text in files.items():
        (tmp_path / Path(name).name).write_text(text, encoding="utf-8")
    units = tmp_path / "units"
    units.mkdir()
    (tmp_path / "second_order.py").rename(units / "second_order.py")
    return tmp_path


def test_the_worked_example_is_registered_trained_and_printed_right(dropped):
    _, printed = worked_example()
    listing = (
        "from wug.core import index;"
        "print([e.summary for e in index.build() if e.key == 'second_order']);"
    )
    script = f"{DROPPED_IN} {listing} runpy.run_path(sys.argv[2])"
    output = run("-c", script, str(dropped / "units"), str(dropped / "train.py"))
    assert output == f"['Weighted sum of products of two inputs.']\n{printed}"


def test_the_worked_example_keeps_the_contract_its_doctest_and_its_own_test(dropped):
    # Its paper is not in our references.bib, and it has no file in our tree.
    chosen = "second_order and not references and not file"
    script = (
        f"{DROPPED_IN} import doctest, pytest, wug.units.second_order as unit;"
        "print(doctest.testmod(unit));"
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '--rootdir', '.',"
        f" '-k', {chosen!r}, *sys.argv[2:]]))"
    )
    output = run(
        "-c", script, str(dropped / "units"), "tests/units/test_contract.py",
        str(dropped / "test_second_order.py"),
    )  # fmt: skip
    assert output.startswith("TestResults(failed=0, attempted=3)\n")
    assert " passed" in output and "failed," not in output


def test_the_worked_example_cites_its_paper():
    files, _ = worked_example()
    assert "@article{giles1987," in files["src/wug/references.bib"]
    assert 'references=("giles1987",)' in files["src/wug/units/second_order.py"]


def test_the_example_of_a_table_is_an_experiment(tmp_path):
    files, _ = worked_example()
    for ending in ("py", "csv"):
        text = files[f"src/wug/experiments/mistry2022/products.{ending}"]
        (tmp_path / f"products.{ending}").write_text(text, encoding="utf-8")
    script = (
        "from pathlib import Path; from wug.core.index import import_file; import sys;"
        "from wug.study.experiment import RunOptions;"
        "made = import_file(Path(sys.argv[1])).products(RunOptions(scale='smoke'));"
        "verdicts = [c.evaluate(made.published_table).verdict.value for c in made.claims];"
        "print(made.name, [(lot.name, lot.num_replicas) for lot in made.lots], *verdicts)"
    )
    output = run("-c", script, str(tmp_path / "products.py"))
    assert output == "products [('nmu', 4), ('npu', 4)] held\n"


def test_the_example_on_text_prints_what_the_page_says():
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    shown = r"^```python\n(.*?)^```$\s*^```text\n(.*?)^```$"
    script, printed = re.search(shown, text, re.DOTALL | re.MULTILINE).groups()
    assert run("-c", script) == printed


@needs_mkdocs
def test_every_data_set_is_listed(site):
    page = (site / "data.html").read_text(encoding="utf-8")
    assert all(f"<td>{name}</td>" in page for name in catalog())


@needs_mkdocs
def test_examples_of_the_reference_are_code():
    import griffe

    extensions = griffe.load_extensions(str(ROOT / "docs" / "examples_shown.py"))
    loader = griffe.GriffeLoader(
        extensions=extensions, search_paths=[str(ROOT / "src")],
        docstring_parser=griffe.Parser.google,
    )  # fmt: skip
    sections = loader.load("wug.units.nmu")["NMU"].docstring.parsed
    assert "examples" in [section.kind.value for section in sections]
    assert "examples_shown.py" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
