"""The function definitions of the Berkeley Function Calling Leaderboard, and what they mean.

Nothing here is shared with the import that it is compared with: the types are spelt out for this
data alone.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DISTINCT = 3_526
"""How many different definitions the data of the pinned release holds."""

MEANINGS = {
    "dict": "object", "HashMap": "object", "float": "number", "double": "number",
    "tuple": "array", "Array": "array", "ArrayList": "array", "String": "string",
    "char": "string", "long": "integer", "Boolean": "boolean",
}  # fmt: skip


def read_functions(data: Path) -> list[dict[str, Any]]:
    """Every distinct definition under a folder, in the order of its files and lines."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(data.rglob("*.json")):
        for row in _rows(path.read_text(encoding="utf-8")):
            listed = row.get("function") if "function" in row else [row]
            for one in listed if isinstance(listed, list) else [listed]:
                if isinstance(one, dict) and "name" in one and "parameters" in one:
                    found.setdefault(json.dumps(one, sort_keys=True), one)
    return list(found.values())


def _rows(text: str) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        rows = [json.loads(text)]
    return [row for row in rows if isinstance(row, dict)]


def meaning(schema: Any) -> Any:
    """A schema of this data in the words of JSON Schema, every other key as it came."""
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type":
            if value not in ("any", ""):
                out[key] = MEANINGS.get(value, value)
        elif key == "properties":
            out[key] = {name: meaning(one) for name, one in value.items()}
        elif key == "items" and isinstance(value, list):
            out["prefixItems"] = [meaning(one) for one in value]
        elif key in ("items", "additionalProperties"):
            out[key] = meaning(value)
        else:
            out[key] = value
    return out


def may_be_called(name: str, frozen: str) -> bool:
    """Whether ``frozen`` is the name that ``name`` becomes, or that name with a count."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return re.fullmatch(re.escape(plain[:58]) + r".{0,6}", frozen) is not None and (
        frozen == plain or re.search(r"_\d+$", frozen) is not None
    )
