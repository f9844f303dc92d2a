"""Names that must be one tool's or one toolset's alone, on every system that they come to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from hermes_build.compiler.diagnostics import Findings, Label
from hermes_build.compiler.sources import Locate
from hermes_build.ir import Place, Tool

_DEVICES = frozenset(("con", "prn", "aux", "nul")) | {
    f"{device}{number}" for device in ("com", "lpt") for number in range(1, 10)
}


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def place(self) -> Place: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...


_N = TypeVar("_N", bound=_Named)


def unique(
    items: Iterable[_N], code: str, what: str, locate: Locate, findings: Findings
) -> dict[str, _N]:
    """The items by name, the first of each; names and aliases share one space."""
    first: dict[str, tuple[_N, tuple[str | int, ...]]] = {}
    kept: dict[str, _N] = {}
    for item in items:
        entries: list[tuple[str, tuple[str | int, ...]]] = [(item.name, ("name",))]
        entries += [(alias, ("aliases", nth)) for nth, alias in enumerate(item.aliases)]
        for name, pointer in entries:
            if name in first:
                other, there = first[name]
                names = pointer == there == ("name",)
                findings.add(
                    code,
                    f"the {what} name `{name}` is used twice"
                    if names
                    else f"`{name}` is {_as_what(what, other, there)} and "
                    f"{_as_what(what, item, pointer, again=other is item)}",
                    locate(item.place, *pointer),
                    label="used again here" if names else f"{_role(what, pointer)} here",
                    labels=(
                        Label(
                            locate(other.place, *there),
                            "first used here" if names else f"{_role(what, there)} here",
                        ),
                    ),
                    help=("give one of them another name",),
                    tool=item.name if what == "tool" else None,
                )
            else:
                first[name] = (item, pointer)
                if pointer == ("name",):
                    kept[name] = item
    return kept


def _role(what: str, pointer: tuple[str | int, ...]) -> str:
    return f"the name of a {what}" if pointer == ("name",) else f"an alias of a {what}"


def _as_what(
    what: str, item: _Named, pointer: tuple[str | int, ...], *, again: bool = False
) -> str:
    """What a name is to one item: its own name, or an alias of it."""
    if pointer == ("name",):
        return f"the name of a {what}"
    return "an alias of itself" if again else f"an alias of the {what} `{item.name}`"


def confusable(tools: Iterable[Tool], locate: Locate, findings: Findings) -> None:
    """Names that meet in one module name, or in one file name where case does not count."""
    seen: dict[str, Tool] = {}
    for tool in tools:
        folded = tool.name.replace("-", "_").casefold()
        if _is_pythons(folded):
            itself = "would be the generated package itself"
            hidden = "would hide, or be hidden by, what Python keeps under that name"
            findings.add(
                "HB1006",
                f"the module of the tool `{tool.name}` "
                + (itself if folded == "__init__" else hidden),
                locate(tool.place, "name"),
                help=("give it another name",),
                tool=tool.name,
            )
            continue
        if folded in _DEVICES:
            findings.add(
                "HB1006",
                f"the module of the tool `{tool.name}` cannot be written on Windows",
                locate(tool.place, "name"),
                label="a device has this name there",
                help=("give it another name",),
                severity="warning",
                tool=tool.name,
            )
        other = seen.setdefault(folded, tool)
        if other is tool:
            continue
        if other.name.replace("-", "_") == tool.name.replace("-", "_"):
            why = "meet in one module name"
        elif other.name.casefold() == tool.name.casefold():
            why = "differ only in case"
        else:
            why = "differ only in case, and in `-` for `_`"
        findings.add(
            "HB1006",
            f"the tool names `{other.name}` and `{tool.name}` {why}",
            locate(tool.place, "name"),
            label="confusable with the other",
            labels=(Label(locate(other.place, "name"), "the other is here"),),
            help=("give one of them another name",),
            tool=tool.name,
        )


def _is_pythons(name: str) -> bool:
    """Whether a module's name is of the form that Python keeps for itself, as `__path__`."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")
