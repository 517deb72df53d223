"""The table of data sets, from the catalog."""

from wug.sources.catalog import catalog


def table() -> str:
    """Return one row per data set."""
    rows = ["| name | what | files | size | licence |", "|---|---|--:|--:|---|"]
    for one in catalog().values():
        size = sum(file.size or 0 for file in one.files) / 1e6
        about = f"[{one.title}]({one.home}): {one.about}"
        if one.paper:
            about = f"{about}. {one.paper}"
        rows.append(f"| {one.name} | {about} | {len(one.files)} | {size:.1f} MB | {one.licence} |")
    return "\n".join(rows) + "\n"
