"""One call of a no-op handler with 4 arguments: what each layer costs, in microseconds.

Run: python benchmarks/calls.py [--rounds N]

The goal: a validated call costs no more than hermes-agent's dispatch that validates nothing. Where
hermes-agent is not installed, the same steps stand in for it: a lock, a table, the handler, and a
look at the kind of result. Runs are interleaved; figures are medians of CPU time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jsonschema_rs

from hermes_build.runtime.catalogue import Catalogue
from hermes_build.runtime.registry import ToolRegistry

CALLS = 20_000
ARGS = {"path": "README.md", "offset": 10, "limit": 20, "mode": "text"}
PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "offset": {"type": "integer", "minimum": 1, "default": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 500},
        "mode": {"enum": ["text", "binary"], "default": "text"},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def no_op(args: dict[str, Any], **context: Any) -> str:
    """The handler of every case but the keyword one."""
    return "done"


def by_keyword(*, path: str, offset: int = 1, limit: int = 500, mode: str = "text") -> str:
    """The same, with a parameter for each property."""
    return "done"


def compiled() -> ToolRegistry:
    """A registry of two tools, one for each shape of handler."""
    lines = []
    for name in ("keyword", "plain"):
        schema = {"name": name, "description": "", "parameters": PARAMETERS}
        record = {"name": name, "schema": schema, "handler": "external"}
        lines.append(f"tool/{name}\t{json.dumps(record)}\n")
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    header = json.dumps({"format": 1, "digest": digest})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalogue.jsonl"
        path.write_text("".join([f"!\t{header}\n", *lines]), encoding="utf-8")
        registry = ToolRegistry(Catalogue(str(path), digest), digest, folder)
        registry.register("plain", handler=no_op)
        registry.register("keyword", handler=by_keyword)
        registry.call("plain", ARGS)
        registry.call("keyword", ARGS)
    return registry


class Unvalidated:
    """A dispatch as hermes-agent 0.19 has it: nothing is validated."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tools = {"plain": (no_op, False)}

    def get_entry(self, name: str) -> Any:
        """Look a tool up under the lock."""
        with self._lock:
            return self._tools.get(name)

    def dispatch(self, name: str, args: dict[str, Any], **kwargs: Any) -> Any:
        """Look up, call, look at the kind of result."""
        entry = self.get_entry(name)
        if not entry:
            return json.dumps({"error": f"Unknown tool: {name}"})
        try:
            handler, is_async = entry
            if is_async:
                raise TypeError("an async handler needs a loop, which is not measured here")
            return self._normalize(name, handler(args, **kwargs))
        except Exception as error:
            return json.dumps({"error": str(error)})

    @staticmethod
    def _normalize(name: str, result: Any) -> Any:
        if isinstance(result, str):
            return result
        raise TypeError(f"{name} returned a {type(result).__name__}")


def cases() -> dict[str, Callable[[], object]]:
    """Every way to call, by its label."""
    is_valid = jsonschema_rs.Draft202012Validator(PARAMETERS).is_valid
    table = {"plain": (is_valid, no_op)}

    def bare_table() -> object:
        fits, handler = table["plain"]
        return handler(ARGS) if fits(ARGS) else None

    registry = compiled()
    call = registry.call
    found: dict[str, Callable[[], object]] = {
        "bare call": lambda: no_op(ARGS),
        "table, jsonschema_rs, handler": bare_table,
        "unvalidated dispatch": (lambda peer: lambda: peer.dispatch("plain", ARGS))(Unvalidated()),
        "validated call": lambda: call("plain", ARGS),
        "validated call, with context": lambda: call("plain", ARGS, task_id="1"),
        "validated call, 3 defaults filled": lambda: call("plain", {"path": "README.md"}),
        "validated call, keyword handler": lambda: call("keyword", ARGS),
        "refused call": lambda: call("plain", {"path": ""}),
    }
    try:
        from tools.registry import registry as hermes
    except ImportError:
        return found
    hermes.register("plain", "x", {"name": "plain", "parameters": PARAMETERS}, no_op)
    found["hermes-agent dispatch, unvalidated"] = lambda: hermes.dispatch("plain", ARGS)
    return found


def main() -> int:
    """Measure, print one row a case, and return 1 when a validated call is not the cheaper one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    ways = cases()
    samples: dict[str, list[float]] = {label: [] for label in ways}
    for _ in range(rounds):
        for label, way in ways.items():
            count = CALLS if label != "refused call" else CALLS // 10
            start = time.process_time()
            for _ in range(count):
                way()
            samples[label].append((time.process_time() - start) / count * 1e6)
    peer = statistics.median(samples["unvalidated dispatch"])
    print(f"{'case':38}{'us':>8}{'ratio to unvalidated dispatch':>32}")
    for label, times in samples.items():
        cost = statistics.median(times)
        print(f"{label:38}{cost:8.2f}{cost / peer:32.2f}")
    return int(statistics.median(samples["validated call"]) > peer)


if __name__ == "__main__":
    raise SystemExit(main())
