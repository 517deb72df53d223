"""One page per experiment, from the records that ship: tables, claims, departures."""

import html
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from generators.results import (
    NOTHING,
    SYMBOLS,
    Result,
    main_result,
    results,
    tables_by_operation,
    unit_link,
)
from wug.core import index
from wug.core.registry import Entry
from wug.report.heatmap import to_svg
from wug.stats.comparison_table import TableCell, claim_counts, make_table

# Pictures that are files of the repository, for pages that are.
KEPT_PICTURES = {"mistry2022.single_module": "../assets/single_module.svg"}
MEASURES = {
    "solved_at": (
        "Solved at",
        "Mean iteration at which the successful seeds were solved, ours / published.",
    ),
    "sparsity": (
        "Sparsity error",
        "Largest distance of a weight of the successful seeds to −1, 0 or 1, ours / published. "
        "Published means come partly from a fit that halves them; `wug show --legacy` repeats "
        "that fit.",
    ),
}
LONGEST_EVIDENCE = 4


def experiment_page(entry: Entry) -> str:
    """Return the page of an experiment that has no hand-written one."""
    return f"# {entry.name}\n\n{entry.summary}\n\n{report(entry.key)}"


def report(experiment: str) -> str:
    """Return everything that the records of an experiment say."""
    result = main_result(experiment)
    if result is None:
        return NOTHING
    parts = [*run_section(result), *shown_section(result), *disagreement_section(result)]
    for other in results(experiment)[1:]:
        parts += comparison_section(result, other)
    parts += [*contradiction_section(result), *claims_section(result)]
    known = {measure.name for measure in result.table.measures}
    for measure, (title, text) in MEASURES.items():
        if measure in known:
            parts += [f"## {title}", text, *tables_by_operation(result.table, measure, "../")]
    return "\n\n".join(parts) + "\n"


def run_section(result: Result) -> Iterator[str]:
    """Say what was run, with which command and versions."""
    records = list(result.run.records())
    minutes = sum(record.seconds for record in records) / 60
    seeds = len({record.seed for record in records})
    settings = joined(result.run.settings)
    yield "## The run"
    yield f"```sh\n{result.run.catalog().get('command', '')}\n```"
    yield (
        f"{len(records):,} trainings, {seeds} seeds; {settings}. {minutes:.0f} minutes of "
        f"training, added over processes, with {joined(records[0].versions)}."
    )
    yield "Where it departs from the paper's text:"
    yield "\n".join(f"- {line}" for line in result.run.catalog().get("departures", ()))


def joined(facts: Mapping[str, Any]) -> str:
    """Write names and values in a row."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items())


def shown_section(result: Result) -> Iterator[str]:
    """Give the success rates, or what the table shows where nothing is solved."""
    measure = result.table.measure
    if measure.is_share:
        yield from success_section(result)
        return
    yield f"## {measure.title}"
    beside = ", ours / published" if result.table.has_comparison else ""
    yield f"{measure.about}{beside}."
    yield from tables_by_operation(result.table, measure.name, "../")


def success_section(result: Result) -> Iterator[str]:
    """Give the success rates and how far they agree."""
    agree, compared = result.table.agreement()
    equal = sum(cell.agrees() is not None and equal_rates(cell) for cell in cells(result))
    yield "## Success"
    if compared:
        yield (
            f"Per cent of the seeds that are solved, ours / published. **{agree} of {compared}** "
            "rates agree: one lies in the other's 95 % Wilson interval. "
            f"{equal} are equal. Bold: not in agreement."
        )
    else:
        yield (
            "Per cent of the seeds that are solved. The paper shows figures and prints no numbers, "
            "so there are none beside ours."
        )
    key = result.run.experiment
    yield f"![success rates]({KEPT_PICTURES.get(key, f'{key}.svg')})"
    yield from tables_by_operation(result.table, "success", "../")


def picture(result: Result) -> str:
    """Draw the success rates."""
    table = result.table
    rates = {
        key: (cell.ours, (cell.printed("success") or {}).get("value"))
        for key, cell in table.cells.items()
    }
    return to_svg(table.title, table.rows, table.columns, rates)


def cells(result: Result) -> Iterator[TableCell]:
    """Yield all cells in the table's order."""
    return iter(result.table.cells.values())


def equal_rates(cell: TableCell) -> bool:
    """Say whether both rates are the same in whole per cent, as they are printed."""
    printed = cell.printed("success")
    if cell.ours is None or printed is None:
        return False
    return abs(cell.ours.rate.value - printed["value"]) < 0.005


def disagreement_section(result: Result) -> Iterator[str]:
    """List the cells whose success rates disagree, if there is anything to compare with."""
    if not result.table.has_comparison:
        return
    yield "## Cells that disagree"
    apart = [cell for cell in cells(result) if cell.agrees() is False]
    yield rates(apart, "published") if apart else "None."


def rates(apart: list[TableCell], beside: str) -> str:
    """Return a table of success rates with their intervals."""
    lines = [f"| cell | ours | 95 % | {beside} | 95 % |", "|---|:-:|:-:|:-:|:-:|"]
    for cell in apart:
        printed = cell.printed("success") or {}
        ours, rate = cell.ours.rate, printed["value"]  # type: ignore[union-attr]
        lines.append(
            f"| {cell_name(cell)} | {100 * ours.value:.0f} | "
            f"{100 * ours.low:.0f} to {100 * ours.high:.0f} | {100 * rate:.0f} | "
            f"{100 * (rate - printed['minus']):.0f} to {100 * (rate + printed['plus']):.0f} |"
        )
    return "\n".join(lines)


def cell_name(cell: TableCell) -> str:
    """Name a cell by unit, sign of the operation and range."""
    units = {entry.key for entry in index.entries("unit")}
    words = (unit_link(w, "../") if w in units else SYMBOLS.get(w, w) for w in cell.row)
    return f"{' '.join(words)} on {cell.column}"


def comparison_section(result: Result, other: Result) -> Iterator[str]:
    """Compare another run of ours with the published numbers and with the main run."""
    agree, compared = other.table.agreement()
    beside = make_table(other.run, against=result.run)
    agree_ours, compared_ours = beside.agreement()
    yield f"## Another run: {other.name}"
    yield f"```sh\n{other.run.catalog().get('command', '')}\n```"
    yield (
        f"{agree} of {compared} success rates agree with the published ones, and {agree_ours} of "
        f"{compared_ours} with those of the run above, in the same sense."
    )
    for table, name in ((other.table, "published"), (beside, "above")):
        if apart := [cell for cell in table.cells.values() if cell.agrees() is False]:
            yield f"Not in agreement ({name}):"
            yield rates(apart, name)


def contradiction_section(result: Result) -> Iterator[str]:
    """List the claims that the paper's own tables break."""
    broken = [c for c in result.table.claims if c["published"]["verdict"] == "broken"]
    yield "## Where the paper contradicts its own tables"
    if not broken:
        yield "Nowhere."
        return
    sources = {
        " ".join((*cell.row, cell.column)): cell.published["source"]
        for cell in cells(result)
        if cell.published is not None
    }
    for claim in broken:
        ours, theirs = claim["ours"], claim["published"]
        text = "; ".join(theirs["evidence"])
        tables = ", ".join(sorted({table for key, table in sources.items() if key in text}))
        yield (
            f"- **{claim['statement']}** ({claim['source']})\n"
            f"    - {tables or 'Published'}: {evidence(theirs)}.\n"
            f"    - Ours, {ours['verdict']}: {evidence(ours)}."
        )


def claims_section(result: Result) -> Iterator[str]:
    """List every claim with both verdicts, by paragraph of the paper."""
    ours = claim_counts(result.table)
    theirs = Counter(str(claim["published"]["verdict"]) for claim in result.table.claims)
    yield "## Claims"
    yield (
        "The paper's statements as predicates, each judged on our records, with their "
        "uncertainty, and on the published tables, at face value. Ours: "
        f"{counted(ours)}. Published: {counted(theirs)}. Undecided means that this number of "
        "seeds can't tell."
    )
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for claim in result.table.claims:
        groups.setdefault(claim["source"], []).append(claim)
    for source, claims in groups.items():
        lines = ["| ours | published | claim |", "|---|---|---|"]
        for claim in claims:
            statement = html.escape(claim["statement"], quote=False)
            why = [
                f"{name}: {evidence(claim[side])}"
                for name, side in (("ours", "ours"), ("published", "published"))
                if claim[side]["verdict"] != "held"
            ]
            detail = f"<br><small>{'<br>'.join(why)}</small>" if why else ""
            verdicts = (badge(claim[side]["verdict"]) for side in ("ours", "published"))
            lines.append(f"| {' | '.join(verdicts)} | {statement}{detail} |")
        yield f"### {source}"
        yield "\n".join(lines)


def counted(verdicts: Mapping[str, int]) -> str:
    """Write how many claims are held, broken and undecided."""
    return ", ".join(f"{verdicts.get(name, 0)} {name}" for name in ("held", "broken", "undecided"))


def badge(verdict: str) -> str:
    """Return a verdict with its colour."""
    return f'<span class="verdict {verdict}">{verdict}</span>'


def evidence(judgement: Mapping[str, Any]) -> str:
    """Return the first pieces of evidence."""
    lines = judgement["evidence"]
    more = len(lines) - LONGEST_EVIDENCE
    text = "; ".join(lines[:LONGEST_EVIDENCE]) + (f"; and {more} more" if more > 0 else "")
    return html.escape(text, quote=False)
