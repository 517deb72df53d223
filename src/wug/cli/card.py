"""wug card: what a model of yours can do beside the models that are here."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from wug.core.errors import UserError, require_at_least, require_choice
from wug.records import RunStore, clear_run, write_atomic


def card(
    model: Annotated[str, tyro.conf.Positional],
    *,
    kind: Literal["classification", "transduction"] | None = None,
    minutes: float = 30.0,
    rivals: bool = False,
    tasks: tuple[str, ...] = (),
    name: str | None = None,
    batch_size: int = 64,
    optimiser: Literal["muon", "adamw", "adam"] = "muon",
    learning_rate: float = 5e-4,
    evaluate_every: int = 200,
    least_steps: int = 1_000,
    image: Path | None = None,
    seed: int = 0,
    out: Path | None = None,
    fresh: bool = False,
    device: str = "cpu",
    workers: int | None = None,
) -> int:
    """Train a model on every task of productivity and systematicity, in the time that you give it.

    The class is called as MyModel(num_tokens, num_classes), its objects as model(tokens, lengths)
    with tokens (batch, seq) and lengths (batch,), and they return logits (batch, num_classes). With
    --kind transduction it is called as MyModel(num_source_tokens, num_target_tokens), its objects
    as model(source, source_lengths, target_in), where target_in begins with the start token
    num_target_tokens, and they return logits (batch, target, num_target_tokens + 1), the last class
    the end. Your file is imported: what stands in it runs, with your rights.

    Args:
        model: Your class, as file.py:MyModel or module:MyModel, which is run; or a model that is
            here: ndr, relative, transformer, lstm, bilstm, or relative_universal, universal and
            lstm_attention, which write sequences, in the size of a rival.
        kind: Whether it says a class for a sequence or writes another sequence; known of models
            that are here, else by the tasks, else classification.
        minutes: Time in all, which the tasks share evenly.
        rivals: Train the models that are here, too; each gets the same time.
        tasks: Which tasks; all if not given.
        name: What to call it; the class in lower case if not given.
        batch_size: Sequences of a batch.
        optimiser: Muon moves all directions of a matrix alike, and AdamW the rest of the weights.
        learning_rate: Of the optimiser, after a warm-up of 300 steps.
        evaluate_every: Steps between evaluations.
        least_steps: Tasks for which the time was not enough for so many steps are not scored.
        image: Also draw the card into this file, .svg or .png; card.svg in the run's folder is
            always drawn.
        seed: Of weights and batches.
        out: The run's folder; runs/card/MINUTES if not given, where all your models meet.
        fresh: Remove what an earlier run left in the folder.
        device: Where to train, such as cpu or cuda.
        workers: Trainings side by side; one by default, which then has all cores.
    """
    if workers is not None:
        require_at_least("card", "workers", workers, 1)
    if image is not None:
        require_choice("card", "the ending of --image", image.suffix.lower(), (".svg", ".png"))
        drawn("<svg xmlns='http://www.w3.org/2000/svg'/>", image)  # before hours of training
    from rich.console import Console

    console = Console()
    with console.status("loading torch"):
        from wug.report.card_picture import card_svg
        from wug.report.table_text import print_table
        from wug.stats.comparison_table import make_table
        from wug.study.card import CardOptions, finish, try_model
        from wug.study.card import card as make
        from wug.study.traces import write_traces
        from wug.training.crew import require_device, train_missing
        from wug.training.work import WorkOptions

        require_device(device)
        options = CardOptions(
            model=model, minutes=minutes, rivals=rivals, tasks=tasks, name=name,
            batch_size=batch_size, optimiser=optimiser, learning_rate=learning_rate,
            evaluate_every=evaluate_every, least_steps=least_steps, seed=seed, kind=kind,
        )  # fmt: skip
        plan = make(options)
        folder = out or options.folder
    with console.status("trying the model on every task"):
        try_model(options)
    if fresh:
        clear_run(folder)
    store = RunStore.open(folder, plan.name, plan.settings)
    console.print(f"[bold]{plan.title}[/], {minutes:g} minutes for each model, in {folder}")
    work = WorkOptions(compile="off", device=device)
    train_missing("wug.study.card:card", options, plan, store, work, workers or 1, console)
    write_traces(folder)  # of the models that are here; others can't be loaded again
    command = shlex.join(["wug", "card", model, "--minutes", f"{minutes:g}"])
    finished = finish(store, plan, command + (" --rivals" if rivals else ""), least_steps)
    table = make_table(finished)
    print_table(finished, table)
    print_table(finished, replace(table.showing("iid_accuracy"), left_out=()))
    for path in filter(None, (folder / "card.svg", image)):
        picture = card_svg(table, f"{minutes:g} minutes for each model")
        write_atomic(path, drawn(picture, path))
        console.print(f"Card: {path}", soft_wrap=True)
    return 0


def drawn(picture: str, path: Path) -> str | bytes:
    """Return a picture as a file of its ending holds it.

    Raises:
        UserError: The package that draws PNGs is missing.
    """
    if path.suffix.lower() != ".png":
        return picture
    try:
        import vl_convert
    except ImportError:
        raise UserError(
            'card: PNG needs one more package: pip install "wug[report]". SVG does without.'
        ) from None
    return bytes(vl_convert.svg_to_png(picture, scale=1.0))
