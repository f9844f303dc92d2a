"""Calls, listings and start-up beside hermes-agent 0.19, both in one process.

Run: python -m benchmarks.hermes [--rounds N]

It runs in hermes-agent's own environment, which `make test-real` makes; where there is none,
nothing is measured. Runs are interleaved; figures are medians of CPU time. Goals, as parts of what
the same costs there:

- a validated call: no more than a dispatch that validates nothing (1/1);
- a whole call: a fifth of ``handle_function_call``; with three hooks on both sides, half of it;
- the definitions of a session of 50 tools: a fiftieth of ``get_definitions``, and independent of
  how many tools there are;
- from a new process to a definition: a twentieth.

64 threads call at once, and no answer may be lost or reach another.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

LISTED = 50
SIZES = (100, 10_000)
THREADS = 64
CALLS_PER_THREAD = 500
SLACK = 1.5
"""How much a listing of many tools may cost beside one of few, where both take some 100 ns."""

Way = Callable[[], object]


def no_hook(**about: Any) -> None:
    """A hook of either side that observes, and does nothing."""


def always() -> bool:
    """A check function of either side."""
    return True


def median_us(ways: dict[str, tuple[Way, int]], rounds: int) -> dict[str, float]:
    """The median CPU microseconds of each way, which is repeated so often a round."""
    samples: dict[str, list[float]] = {label: [] for label in ways}
    for way, _ in ways.values():
        way()
    for _ in range(rounds):
        for label, (way, count) in ways.items():
            start = time.process_time()
            for _ in range(count):
                way()
            samples[label].append((time.process_time() - start) / count * 1e6)
    return {label: statistics.median(times) for label, times in samples.items()}


class Table:
    """Rows of figures, each with what it is compared with; `met` says whether all goals are met."""

    def __init__(self, unit: str) -> None:
        self.met = True
        self._unit = unit
        print(f"\n{'case':52}{unit:>10}{'there':>12}{'part':>9}{'goal':>9}")

    def row(self, label: str, cost: float, there: float, goal: float | None = None) -> None:
        """Print one row: what it costs here, what it costs there, and the goal as a part."""
        part = cost / there
        is_met = goal is None or part <= goal
        self.met = self.met and is_met
        aim = "" if goal is None else f"{goal:9.3f}{'' if is_met else '  missed'}"
        print(f"{label:52}{cost:10.3f}{there:12.3f}{part:9.3f}{aim}", flush=True)


def calls(rounds: int) -> bool:
    """Compare one call of a no-op handler with 4 arguments; whether the goals are met."""
    from hermes_cli.plugins import PluginContext, PluginManifest, get_plugin_manager
    from model_tools import handle_function_call
    from tools.registry import registry as theirs

    from benchmarks.calls import ARGS, PARAMETERS, compiled, no_op

    theirs.register("plain", "bench", {"name": "plain", "parameters": PARAMETERS}, no_op)
    ours = compiled()
    context = {"task_id": "t", "session_id": "s"}

    def measured(hooks: bool) -> dict[str, float]:
        ways: dict[str, Way] = {
            "call": lambda: ours.call("plain", ARGS, **context),
            "handle_function_call": lambda: handle_function_call("plain", ARGS, **context),
        }
        if not hooks:
            session = ours.session()
            ways |= {
                "call without context": lambda: ours.call("plain", ARGS),
                "session's call": lambda: session.call("plain", ARGS, task_id="t"),
                "dispatch": lambda: theirs.dispatch("plain", ARGS),
                "dispatch with context": lambda: theirs.dispatch("plain", ARGS, **context),
            }
        counts = dict.fromkeys(ways, 10_000) | {"handle_function_call": 1_000}
        return median_us({one: (way, counts[one]) for one, way in ways.items()}, rounds)

    table = Table("us")
    took = measured(hooks=False)
    there = took["handle_function_call"]
    table.row("validated call : unvalidated dispatch", took["call without context"],
              took["dispatch"], 1.0)  # fmt: skip
    table.row("the same, with two ids of context", took["call"], took["dispatch with context"], 1.0)
    table.row("whole call : handle_function_call", took["call"], there, 1 / 5)
    table.row("whole call of a session : handle_function_call", took["session's call"], there)
    manager = get_plugin_manager()
    plugin = PluginContext(PluginManifest(name="bench"), manager)
    for hook in ("pre_tool_call", "post_tool_call", "transform_tool_result"):
        plugin.register_hook(hook, no_hook)
        ours.hooks.add(hook, no_hook)
    took = measured(hooks=True)
    table.row("the same with three hooks", took["call"], took["handle_function_call"], 1 / 2)
    manager._hooks.clear()
    return table.met


def tools(count: int) -> list[dict[str, Any]]:
    """So many function objects of some 700 characters."""
    text = "What it does, said at some length, so that a model knows when to use it. " * 3
    return [
        {
            "name": f"tool_{number:05d}",
            "description": text,
            "parameters": {
                "type": "object",
                "properties": {
                    name: {"type": "string", "description": f"The {name} of it."}
                    for name in ("path", "mode", "limit", "text")
                },
                "required": ["path"],
            },
        }
        for number in range(count)
    ]


def frozen_with(schemas: list[dict[str, Any]], folder: Path) -> Any:
    """A compiled registry of tools that have check functions, of which the first are bound."""
    from benchmarks.calls import no_op
    from hermes_build.runtime.catalogue import Catalogue
    from hermes_build.runtime.registry import ToolRegistry

    records = [
        {"name": one["name"], "schema": one, "handler": "external", "requires": {"check": True}}
        for one in schemas
    ]
    lines = "".join(f"tool/{one['name']}\t{json.dumps(one)}\n" for one in records)
    digest = hashlib.sha256(lines.encode()).hexdigest()
    path = folder / f"catalogue_{len(schemas)}.jsonl"
    header = json.dumps({"format": 1, "digest": digest})
    path.write_text(f"!\t{header}\n{lines}", encoding="utf-8")
    registry = ToolRegistry(Catalogue(str(path), digest), digest, str(folder))
    for one in schemas[:LISTED]:
        registry.register(one["name"], handler=no_op, check_fn=always)
    return registry


def listings(rounds: int, folder: Path) -> bool:
    """Compare the definitions of 50 tools out of few and of many; whether the goals are met."""
    from tools.registry import ToolRegistry

    from benchmarks.calls import no_op

    ways: dict[str, tuple[Way, int]] = {}
    for size in SIZES:
        schemas = tools(size)
        names = [one["name"] for one in schemas[:LISTED]]
        theirs = ToolRegistry()
        for one in schemas:
            theirs.register(one["name"], "bench", one, no_op, always)
        session = frozen_with(schemas, folder).session(names)
        assert session.definitions() == theirs.get_definitions(set(names), quiet=True)

        def listed(theirs: Any = theirs, names: list[str] = names) -> object:
            return theirs.get_definitions(names, quiet=True)

        ways[f"ours {size}"] = (session.definitions, 5_000)
        ways[f"theirs {size}"] = (listed, 50)
    took = median_us(ways, rounds)
    table = Table("us")
    for size in SIZES:
        table.row(f"definitions of {LISTED} out of {size:,}", took[f"ours {size}"],
                  took[f"theirs {size}"], 1 / 50)  # fmt: skip
    few, many = (took[f"ours {size}"] for size in SIZES)
    table.row(f"out of {SIZES[1]:,} : out of {SIZES[0]:,}, both here", many, few, SLACK)
    return table.met


def at_once(rounds: int) -> bool:
    """Call from 64 threads at once on both sides; whether every call got its own answer."""
    from tools.registry import registry as theirs

    from benchmarks.calls import PARAMETERS, compiled
    from hermes_build.runtime.registry import ToolRegistry

    def echo(args: dict[str, Any], **context: Any) -> str:
        return f"{args['path']} {args['offset']} {context['task_id']}"

    ours: ToolRegistry = compiled()
    ours.register("plain", handler=echo, override=True)
    theirs.register("echo", "bench", {"name": "echo", "parameters": PARAMETERS}, echo)
    print(f"\n{THREADS} threads at once, {CALLS_PER_THREAD} calls each")
    sides = {"here": (ours.call, "plain"), "there": (theirs.dispatch, "echo")}
    rates: dict[str, list[float]] = {label: [] for label in sides}
    wrong = dict.fromkeys(sides, 0)
    for _ in range(rounds):
        for label, (call, name) in sides.items():
            seconds, right = burst(call, name)
            rates[label].append(THREADS * CALLS_PER_THREAD / seconds)
            wrong[label] += THREADS * CALLS_PER_THREAD - right
    for label, found in rates.items():
        rate = statistics.median(found)
        print(f"  {label:8}{rate:12,.0f} calls a second, {wrong[label]} lost or crossed")
    return wrong["here"] == 0


def burst(call: Callable[..., Any], name: str) -> tuple[float, int]:
    """Call from all threads at once: the seconds that it took, and how many answers were right."""
    from benchmarks.calls import ARGS

    right = [0] * THREADS
    start = threading.Barrier(THREADS + 1)

    def work(nth: int) -> None:
        start.wait()
        for number in range(1, CALLS_PER_THREAD + 1):
            sent = {**ARGS, "path": f"file {nth}", "offset": number}
            right[nth] += call(name, sent, task_id=str(nth)) == f"file {nth} {number} {nth}"

    threads = [threading.Thread(target=work, args=(nth,)) for nth in range(THREADS)]
    for one in threads:
        one.start()
    start.wait()
    began = time.perf_counter()
    for one in threads:
        one.join()
    return time.perf_counter() - began, sum(right)


def within(rounds: int) -> int:
    """Measure what one process can; run by hermes-agent's interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        met = [calls(rounds), listings(rounds, Path(folder)), at_once(rounds)]
    return int(not all(met))


def start_up(rounds: int, python: Path, path: list[str], folder: Path) -> bool:
    """Compare a new process up to a definition; whether the goal is met."""
    from benchmarks.processes import COMMAND, Contender, cpu_ms, in_turns

    program = folder / "program"
    program.mkdir()
    (program / "hermes-build.toml").write_text('output = "frozen_hermes"\n', encoding="utf-8")
    cpu_ms([*COMMAND, "import", "python", "tools.registry:registry", "--toolsets",
            "toolsets:TOOLSETS", "--preload", "model_tools", "--python", str(python)],
           program)  # fmt: skip
    cpu_ms([*COMMAND, "compile"], program)
    ours = f"import sys; sys.path += {[*path, str(program)]!r}; "
    ours += "from frozen_hermes.registry import registry as r; "
    theirs = "import model_tools; from tools.registry import registry as r; "
    every = "assert len([r.get_schema(name) for name in r.get_all_tool_names()]) == 79"
    one = "assert r.get_schema('process')"

    def process(code: str) -> Contender:
        return Contender([str(python), "-c", code], folder)

    took = in_turns(
        {
            "pass": process("pass"),
            "ours, one": process(ours + one),
            "ours, all": process(ours + every),
            "theirs, one": process(f"{theirs}assert r.get_definitions({{'process'}})"),
            "theirs, all": process(theirs + every),
        },
        rounds,
    )
    table = Table("CPU ms")
    table.row("new process to one definition of 79", took["ours, one"], took["theirs, one"], 1 / 20)
    table.row("new process to all 79", took["ours, all"], took["theirs, all"], 1 / 20)
    table.row("an interpreter alone", took["pass"], took["theirs, one"])
    return table.met


def main() -> int:
    """Measure, print one row a case, and return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--path", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.path:
        sys.path += options.path
        return within(options.rounds)
    from tests.real.environments import installed, runtime_packages

    python = installed("hermes-agent==0.19.0")
    if python is None:
        print("hermes-agent 0.19.0 is not installed; `make test-real` installs it. Skipped.")
        return 0
    path = [str(ROOT), str(runtime_packages(python))]
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "HERMES_HOME": folder}
        command = [str(python), __file__, "--rounds", str(options.rounds), "--path", *path]
        missed = subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode
        met = start_up(max(3, options.rounds // 3), python, path, Path(folder))
    return int(bool(missed) or not met)


if __name__ == "__main__":
    raise SystemExit(main())
