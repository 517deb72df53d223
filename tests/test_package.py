"""House rules that no linter knows: torch-free imports, short files, no global RNG, no paths."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import wug

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
SOURCES = {
    path.relative_to(SRC): path.read_text(encoding="utf-8")
    for path in sorted((SRC / "wug").rglob("*.py"))
}
MAX_LINES = 600
TORCH_FREE = {"__init__.py", "records", "stats", "core", "report"}

TORCH_DRAWS = {
    "bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "randperm",
}  # fmt: skip
IN_PLACE_DRAWS = re.compile(
    r"(bernoulli|cauchy|exponential|geometric|normal|orthogonal|random|uniform)_$"
)
GLOBAL_STATE = re.compile(r"(torch(\.\w+)?\.(manual_)?seed(_all)?|random\.[a-z]\w*)$")


def test_listing_and_reading_need_no_torch() -> None:
    free = (path for path in SOURCES if path.parts[1] in TORCH_FREE)
    files = [path.with_suffix("") for path in free]
    imports = "; ".join(f"import {'.'.join(file.parts)}" for file in files)
    code = f"import sys; {imports}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=SRC).returncode == 0


def test_files_are_short() -> None:
    lengths = {path: len(text.splitlines()) for path, text in SOURCES.items()}
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


def global_draws(text: str) -> Iterator[str]:
    """Yield the calls that read or set a global random state.

    >>> list(global_draws("torch.rand(2); torch.rand(2, generator=g); x.normal_(); torch.seed()"))
    ['torch.rand(2)', 'x.normal_()', 'torch.seed()']
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = ast.unparse(node.func)
            draws = name in {f"torch.{draw}" for draw in TORCH_DRAWS}
            draws = draws or IN_PLACE_DRAWS.search(name) is not None
            explicit = any(keyword.arg == "generator" for keyword in node.keywords)
            if GLOBAL_STATE.match(name) or (draws and not explicit):
                yield ast.unparse(node)


# Noise in forward can't take a generator under vmap; the fleet seeds and restores the global state
# around its steps, so that noise depends on the lot and the step alone.
NOISE = {
    "wug/units/snmu.py": {"torch.rand_like(x)"},
    "wug/models/masked_fnn.py": {"torch.rand_like(each)"},
    "wug/layers/sparsely_gated_moe.py": {"torch.randn_like(logits)"},
    "wug/functional/streams.py": {
        "torch.randint(0, 1 << 32, (2,), device=x.device)",
        "torch.randint(-(1 << 63), (1 << 63) - 1, ((x.numel() + 3) // 4,), device=x.device)",
    },
    "wug/training/plan.py": {"torch.manual_seed"},
    "wug/training/noise.py": {"torch.manual_seed", "torch.default_generator.manual_seed"},
}


def test_randomness_comes_from_a_generator() -> None:
    for path, text in SOURCES.items():
        allowed = NOISE.get(path.as_posix(), set())
        assert [c for c in global_draws(text) if not c.startswith(tuple(allowed))] == [], path


def test_cited_keys_are_in_the_bibliography() -> None:
    bibliography = (SRC / "wug" / "references.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE)
    assert entries == sorted(set(entries))
    cited = re.findall(r"\b[a-z]+(?:19|20)\d\d\b", "\n".join(SOURCES.values()))
    assert set(cited) - set(entries) == set()


def test_version_is_one() -> None:
    assert f"\nversion: {wug.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{wug.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a git checkout"
)
def test_no_file_names_a_machine() -> None:
    machine = re.compile(rb"/(root|work|home/[a-z]+|Users/[A-Za-z]+)/")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    assert [path for path in paths if path.is_file() and machine.search(path.read_bytes())] == []
