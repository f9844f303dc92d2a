"""Names in a generated module: of its classes, and of the properties that a class would misread."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["typed-dict", "pydantic"]

MARK = "\ue000"
"""Stands before a property name that class syntax would change, so that it is quoted."""

_LONGEST_NAME = 120
_TYPING = frozenset(
    {"Annotated", "Any", "Literal", "NotRequired", "TypeAlias", "TypedDict", "Union"}
)
_BUILTINS = frozenset({"bool", "dict", "float", "int", "list", "str"})
_PYDANTIC = frozenset({"BaseModel", "ConfigDict", "Field", "RootModel"})
_TAIL = frozenset(
    {
        "Args",
        "AsyncImplements",
        "EitherImplements",
        "Implements",
        "Result",
        "ToolResult",
        "implements",
        "registry",
    }
)

_TAKEN = frozenset(name.lower() for name in _TYPING | _BUILTINS | _PYDANTIC | _TAIL) | {
    "hermesunusedroot"
}
_SHADOWING = _TYPING | _BUILTINS | _PYDANTIC


@dataclass(slots=True)
class Names:
    """The class names of one module, in which no two differ by case alone."""

    taken: set[str] = field(default_factory=lambda: set(_TAKEN))

    def fresh(self, base: str) -> str:
        """Take ``base``, or the first numbered form of it that is free."""
        base = base[:_LONGEST_NAME]
        name, count = base, 2
        while name.lower() in self.taken:
            name, count = f"{base}{count}", count + 1
        self.taken.add(name.lower())
        return name


def pascal(name: str) -> str:
    """Return ``name`` as an ASCII class name: ``read_file`` becomes ``ReadFile``."""
    words = re.split(r"[^0-9A-Za-z]+", unicodedata.normalize("NFKC", name))
    joined = "".join(word[:1].upper() + word[1:] for word in words if word)
    return joined if joined[:1].isalpha() else "X" + joined


def mark_names(definitions: dict[str, dict[str, Any]], kind: Kind) -> None:
    """Mark the properties, in place, that a class body would change or misread."""
    for one in definitions.values():
        properties = one.get("properties")
        if not properties:
            continue
        marked = {name: MARK + name for name in properties if _is_misread(name, definitions, kind)}
        if marked:
            one["properties"] = {
                marked.get(name, name): plain for name, plain in properties.items()
            }
            if "required" in one:
                one["required"] = [marked.get(name, name) for name in one["required"]]


def _is_misread(name: str, definitions: dict[str, dict[str, Any]], kind: Kind) -> bool:
    return (
        name in _SHADOWING
        # Python mangles these in a class body, or reads them as its own.
        or name.startswith(("__", MARK))
        # Python normalises identifiers.
        or (not name.isascii() and unicodedata.normalize("NFKC", name) != name)
        or (name[:1].isupper() and name in definitions)
        or (kind == "pydantic" and (name in ("", "root") or name.startswith("model_")))
    )
