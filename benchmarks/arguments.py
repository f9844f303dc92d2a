"""What arguments cost that do not simply fit, in microseconds, beside those that do.

Run: python -m benchmarks.arguments [--rounds N]

The goal: a refused call of four flat arguments, its message included, costs no more than twenty
valid calls. It is held by the median of the kinds of mistakes that models make; the dearest one is
told beside it. The gate alone is measured, and the whole call through a registry. Runs are
interleaved; figures are medians of CPU time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.calls import ARGS, PARAMETERS, compiled
from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.validation import Arguments

CALLS = 20_000
DEARER = 10
"""Calls that are not simply valid are made so many times fewer."""

GOAL = 20

NESTED = {
    "type": "object",
    "properties": {
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "lines": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                },
                "required": ["path"],
            },
        }
    },
}
FILES = [{"path": f"file {number}", "lines": number} for number in range(10)]
AS_TEXT = [{"path": f"file {number}", "lines": str(number)} for number in range(10)]


def without(name: str) -> dict[str, Any]:
    """The usual arguments but one."""
    return {key: value for key, value in ARGS.items() if key != name}


REFUSED: dict[str, Any] = {
    "a limit": {**ARGS, "limit": 9999},
    "empty text": {**ARGS, "path": ""},
    "text for a number": {**ARGS, "limit": "many"},
    "a list for a number": {**ARGS, "limit": [20]},
    "null": {**ARGS, "path": None},
    "no member of an enum": {**ARGS, "mode": "txt"},
    "a missing name": without("path"),
    "a misspelt name": {**without("limit"), "limt": 20},
    "a misspelt name, required": {**without("path"), "pth": "README.md"},
    "an unknown name": {**ARGS, "encoding": "utf-8"},
    "3 mistakes": {**ARGS, "path": "", "limit": 0, "mode": "txt"},
}
SENT: dict[str, Any] = {
    "valid": ARGS,
    "3 defaults missing": {"path": "README.md"},
    "repaired": {**ARGS, "limit": "20"},
    **{f"refused: {kind}": args for kind, args in REFUSED.items()},
}


def gate(parameters: dict[str, Any], args: Any) -> Callable[[], object]:
    """The arguments of one call, through the gate as a call goes through it."""
    arguments = Arguments("plain", parameters)
    fits, accept = arguments.fit_as_they_are, arguments.accept

    def way() -> object:
        try:
            return args if fits(args) else accept(args)
        except Refusal as refusal:
            return refusal.message

    return way


def cases() -> dict[str, Callable[[], object]]:
    """Every way to call, by its label."""
    call = compiled().call
    found: dict[str, Callable[[], object]] = {}
    for label, args in SENT.items():
        found[f"gate, {label}"] = gate(PARAMETERS, args)
    found["gate, 10 objects, valid"] = gate(NESTED, {"files": FILES})
    found["gate, 10 objects, 10 repaired"] = gate(NESTED, {"files": AS_TEXT})
    found["gate, 10 objects, refused"] = gate(NESTED, {"files": [*FILES[1:], {"lines": 1}]})
    for label, args in SENT.items():
        found[f"call, {label}"] = lambda args=args: call("plain", args)  # type: ignore[misc]
    return found


def main() -> int:
    """Measure, print one row a case, and return 1 when a refused call misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    ways = cases()
    for way in ways.values():
        way()  # what a first call makes ready is no part of the next one
    samples: dict[str, list[float]] = {label: [] for label in ways}
    for _ in range(rounds):
        for label, way in ways.items():
            count = CALLS if label.endswith(", valid") else CALLS // DEARER
            start = time.process_time()
            for _ in range(count):
                way()
            samples[label].append((time.process_time() - start) / count * 1e6)
    costs = {label: statistics.median(times) for label, times in samples.items()}
    valid = costs["call, valid"]
    print(f"{'case':42}{'us':>8}{'ratio to a valid call':>24}")
    for label, cost in costs.items():
        print(f"{label:42}{cost:8.2f}{cost / valid:24.2f}")
    refused = {kind: costs[f"call, refused: {kind}"] / valid for kind in REFUSED}
    median = statistics.median(refused.values())
    worst = max(refused, key=lambda kind: refused[kind])
    print(f"the {len(refused)} kinds of refusals: {median:.1f} at the median")
    print(f"the dearest: {refused[worst]:.1f} ({worst})")
    print(f"goal: a call is refused within {GOAL} valid ones, at the median of the kinds")
    return int(median > GOAL)


if __name__ == "__main__":
    raise SystemExit(main())
