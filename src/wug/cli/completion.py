"""wug completion: what may come next on the command line, for bash, zsh and fish.

The scripts ask wug itself, which knows experiments, their rows and columns, units, results on the
disk, data sets and files. It answers without torch.
"""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import tyro

from wug.core import index
from wug.core.folders import RUNS, own_runs, results_folder, shipped_runs
from wug.core.result_names import run_name

Verbs = Mapping[str, Callable[..., Any]]
ASK = "_complete"
# The tasks of wug card, which only torch knows; a test compares.
CARD_TASKS = (
    "ctl", "simple_arithmetic", "listops", "ctlpp_a", "ctlpp_r", "scan_length", "scan_add_jump",
    "mathematics", "film_queries", "cogs", "slog", "pcfg_productivity",
)  # fmt: skip
BASH = r"""_wug() {
  local line="${COMP_LINE:0:COMP_POINT}" words current piece
  read -r -a words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  current="${words[-1]}"
  local IFS=$'\n'
  COMPREPLY=($(wug _complete "${words[@]:1}" 2> /dev/null))
  # Bash takes a word apart at : and @, and wants the last piece alone.
  piece="${COMP_WORDS[COMP_CWORD]}"
  [[ "$piece" == [:@=] ]] && piece=""
  COMPREPLY=("${COMPREPLY[@]#"${current%"$piece"}"}")
  [[ ${#COMPREPLY[@]} -eq 1 ]] && {
    [[ "$COMPREPLY" == */ ]] && compopt -o nospace
    [[ "$COMPREPLY" == *[[:space:]\[\]\(\)\<\>]* ]] && COMPREPLY=("$(printf %q "$COMPREPLY")")
  }
}
complete -F _wug wug
"""
ZSH = r"""_wug() {
  local -a found
  found=("${(@f)$(wug _complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}")
  compadd -S '' -- ${(M)found:#*/}
  compadd -- ${${found:#}:#*/}
}
compdef _wug wug
"""
FISH = r"""function _wug
  set -l current (commandline -ct | string trim -lc '\'"' | string unescape)
  wug _complete (commandline -opc)[2..] "$current" 2> /dev/null
end
complete -c wug -f -a '(_wug)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]) -> None:
    """Print a completion script for your shell.

    Put eval "$(wug completion bash)" into ~/.bashrc, eval "$(wug completion zsh)" into ~/.zshrc
    behind compinit, or wug completion fish | source into ~/.config/fish/config.fish.

    Args:
        shell: Your shell.
    """
    print(SCRIPTS[shell], end="")


class Argument(NamedTuple):
    """An argument of a verb.

    Args:
        name: In Python.
        flag: On the command line; empty if it is positional.
        kind: Its type, without what it may also be.
        many: Whether it takes several words.
    """

    name: str
    flag: str
    kind: Any
    many: bool

    @property
    def is_switch(self) -> bool:
        """Whether no value follows it."""
        return self.kind is bool


def arguments_of(verb: Callable[..., Any]) -> list[Argument]:
    """Return the arguments of a verb, from its signature."""
    hints = get_type_hints(verb, include_extras=True)
    found = []
    for name, parameter in inspect.signature(verb).parameters.items():
        hint, shown = hints[name], name
        if get_origin(hint) is Annotated:
            marks = get_args(hint)[1:]
            shown = next((m.name for m in marks if getattr(m, "name", None)), name)
            hint = get_args(hint)[0]
        flag = f"--{shown.replace('_', '-')}" if parameter.kind == parameter.KEYWORD_ONLY else ""
        some = [a for a in get_args(hint) if a is not type(None)]
        if get_origin(hint) in (Union, types.UnionType) and some:
            hint = some[0]
        many = get_origin(hint) is tuple
        found.append(Argument(name, flag, get_args(hint)[0] if many else hint, many))
    return found


def subverbs_of(verb: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the verbs below a verb, such as those of wug data."""
    found = {}
    for hint in get_type_hints(verb, include_extras=True).values():
        choices = get_args(get_args(hint)[0]) if get_origin(hint) is Annotated else ()
        for choice in choices:
            for mark in get_args(choice)[1:] if get_origin(choice) is Annotated else ():
                make = getattr(mark, "constructor_factory", None)  # of tyro.conf.subcommand
                if make is not None and mark.name is not None:
                    found[mark.name] = make()
    return found


def candidates(verbs: Verbs, words: Sequence[str]) -> list[str]:
    """Return what the last word, which may be empty, can become.

    Args:
        verbs: Of the command line.
        words: What stands behind ``wug`` so far.
    """
    *before, current = words or ("",)
    if not before:
        return starting(current, verbs)
    verb = verbs.get(before[0])
    if verb is None:
        return []
    if below := subverbs_of(verb):
        return candidates(below, words[1:])
    arguments = arguments_of(verb)
    if current.startswith("-"):
        return starting(current, (a.flag for a in arguments if a.flag and a.flag not in before))
    found = argument_at(arguments, before[1:])
    return [] if found is None else starting(current, values(before, found, current))


def argument_at(arguments: Sequence[Argument], before: Sequence[str]) -> Argument | None:
    """Return the argument that the next word belongs to; None if there is none."""
    by_flag = {argument.flag: argument for argument in arguments if argument.flag}
    positional = [argument for argument in arguments if not argument.flag]
    open_flag: Argument | None = None
    for word in before:
        if word in by_flag:
            open_flag = None if by_flag[word].is_switch else by_flag[word]
        elif open_flag is not None:
            open_flag = open_flag if open_flag.many else None
        elif positional and not positional[0].many:
            positional.pop(0)
    return open_flag or (positional[0] if positional else None)


def values(before: Sequence[str], argument: Argument, current: str) -> Iterable[str]:
    """Return what an argument may be."""
    if get_origin(argument.kind) is Literal:
        return map(str, get_args(argument.kind))
    verb, name = before[0], argument.name
    experiment = next((word for word in before[1:] if word in experiments()), None)
    if name == "add_to" or verb in ("show", "pack", "export") and name in ("run", "against"):
        return (*result_names(current), *paths(current))
    if verb == "run" and name == "experiment":
        return (*experiments(), *paths(current, ".py"))
    if verb == "run" and name in ("only", "ranges", "like") and experiment is not None:
        return cells(experiment, name)
    if name in ("unit", "model") and verb in ("run", "card"):
        models = [entry.key for entry in index.entries("model")] if verb == "card" else []
        return (*models, *paths(current, ".py"))
    if verb == "card" and name == "tasks":
        return CARD_TASKS
    if verb == "cite":
        return (entry.key for entry in index.entries())
    if name == "names":  # of data sets
        from wug.sources.catalog import catalog

        return (*catalog(), "results")
    if name == "measure":
        from wug.stats.measures import MEASURES

        return MEASURES
    return paths(current) if argument.kind is Path or name == "source" else ()


def experiments() -> list[str]:
    """Return the keys of all experiments."""
    return [entry.key for entry in index.entries("experiment")]


def cells(experiment: str, name: str) -> list[str]:
    """Return the rows or the columns of an experiment, or the first labels of its rows."""
    details = index.entry("experiment", experiment).details
    if name == "ranges":
        return list(details.get("columns", ()))
    rows = list(details.get("rows", ()))
    firsts = list(dict.fromkeys(row.split(":")[0] for row in rows))
    return firsts if name == "like" else list(dict.fromkeys((*firsts, *rows)))


def result_names(current: str) -> Iterator[str]:
    """Yield the experiments that have results, and behind an @ their runs."""
    for root in (RUNS, results_folder()):
        for folder in sorted(root.glob("*")) if root.is_dir() else ():
            if folder.is_dir():
                yield folder.name
    experiment, at, _ = current.partition("@")
    if at:
        for folder in (*own_runs(experiment), *shipped_runs(experiment)):
            yield f"{experiment}@{run_name(folder)}"


def paths(current: str, ending: str = "") -> Iterator[str]:
    """Yield the folders, and the files with an ending, that begin as a word does."""
    folder, _, start = current.rpartition("/")
    place = Path(folder or ("/" if current.startswith("/") else "."))
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return
    prefix = current[: len(current) - len(start)]
    for entry in entries:
        hidden = entry.name.startswith(".") and not start.startswith(".")
        if not hidden and entry.is_dir():
            yield f"{prefix}{entry.name}/"
        elif not hidden and entry.name.endswith(ending):
            yield f"{prefix}{entry.name}"


def starting(current: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin as a word does, each once."""
    return [name for name in dict.fromkeys(names) if name.startswith(current)]
