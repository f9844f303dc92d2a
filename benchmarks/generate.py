"""What typed stubs cost over one bare batch of the generator, as a ratio of CPU time.

    python benchmarks/generate.py [FILE] [--kind typed-dict|pydantic] [--rounds N] [--tools N]

FILE is a JSON list of ``{"name": ..., "parameters": ...}``; without one, schemas are made up here.
The two sides take turns, so that a noisy machine disturbs both; medians of CPU time are compared.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datamodel_code_generator import Formatter, generate

from hermes_build.compiler.emit.generator import configuration
from hermes_build.compiler.emit.stubs import StubRequest, make_stubs

_WORDS = ("path query limit offset user title body state branch filter value region token").split()  # noqa: SIM905


GOAL = 1.12
"""How much stubs may cost beside the generator alone: preparing, the gate, putting together."""


def made_up(count: int) -> list[dict[str, Any]]:
    """Return ``count`` schemas of the sizes and forms that published tools have."""
    chance = random.Random(7)

    def leaf() -> dict[str, Any]:
        said = {"description": " ".join(chance.choices(_WORDS, k=chance.randint(4, 16)))}
        kind = chance.choice(["string"] * 6 + ["integer", "integer", "boolean", "number"])
        if kind == "string" and chance.random() < 0.15:
            return {"type": kind, "enum": chance.sample(_WORDS, 4), **said}
        if kind == "integer" and chance.random() < 0.5:
            return {"type": kind, "minimum": 1, "default": 10, **said}
        return {"type": kind, **said}

    def thing(depth: int) -> dict[str, Any]:
        names = chance.sample(_WORDS, chance.randint(1, 6))
        properties: dict[str, Any] = {}
        for name in names:
            draw = chance.random()
            if depth and draw < 0.08:
                properties[name] = thing(depth - 1)
            elif draw < 0.2:
                inner = thing(depth - 1) if depth and draw < 0.12 else {"type": "string"}
                properties[name] = {"type": "array", "items": inner}
            elif draw < 0.24:
                properties[name] = {"anyOf": [leaf(), {"type": "null"}], "default": None}
            else:
                properties[name] = leaf()
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name in names if chance.random() < 0.5],
            "additionalProperties": False,
        }

    return [{"name": f"tool_{number}", "parameters": thing(2)} for number in range(count)]


def plain_options(kind: Any) -> Any:
    """Return our options, with the cheapest of the generator's formatters over every text."""
    return configuration(kind).model_copy(update={"formatters": [Formatter.BUILTIN]})


def bare(tools: list[dict[str, Any]], kind: Any) -> None:
    """Run the generator once over the schemas as they are, with the options that stubs have."""

    def placed(value: Any, prefix: str) -> Any:
        if isinstance(value, dict):
            return {
                name: prefix + one[1:]
                if name == "$ref" and isinstance(one, str) and one.startswith("#")
                else placed(one, prefix)
                for name, one in value.items()
            }
        return [placed(one, prefix) for one in value] if isinstance(value, list) else value

    definitions = {
        f"m{number}.ToolArgs": placed(tool["parameters"], f"#/$defs/m{number}.ToolArgs")
        for number, tool in enumerate(tools)
    }
    start_over = {"$defs": definitions}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        generate(start_over, config=plain_options(kind))


def cpu(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of one run."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> int:
    """Print both costs and their ratio, and return 1 when the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--kind", choices=("typed-dict", "pydantic"), default="typed-dict")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tools", type=int, default=512)
    given = parser.parse_args()
    if given.file:
        tools = json.loads(given.file.read_text("utf-8"))[: given.tools]
    else:
        tools = made_up(given.tools)
    requests = [StubRequest(one["name"], one["parameters"]) for one in tools]
    bare(tools[:4], given.kind)
    make_stubs(requests[:4], given.kind)
    whole: list[float] = []
    batch: list[float] = []
    for _ in range(given.rounds):
        batch.append(cpu(lambda: bare(tools, given.kind)))
        whole.append(cpu(lambda: make_stubs(requests, given.kind)))
    count = len(tools)
    left, right = statistics.median(whole), statistics.median(batch)
    print(f"{count} tools, {given.kind}, median of {given.rounds} rounds")
    print(f"stubs      {left / count * 1e3:.3f} ms a tool")
    print(f"bare batch {right / count * 1e3:.3f} ms a tool")
    ratio = statistics.median(a / b for a, b in zip(whole, batch, strict=True))
    print(f"ratio      {ratio:.3f}  goal {GOAL}")
    return int(ratio > GOAL)


if __name__ == "__main__":
    raise SystemExit(main())
