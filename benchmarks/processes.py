"""CPU time of whole processes, measured in turns."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-c", "from hermes_build.cli import script; script()"]
"""What the installed command ``hermes-build`` is made of."""


@dataclass(frozen=True)
class Contender:
    """A process to measure; ``before`` is done first, and not counted."""

    command: list[str]
    folder: Path
    before: Callable[[], object] = lambda: None


def cpu_ms(command: list[str], folder: Path) -> float:
    """Run a process and its children to the end; return their CPU time in milliseconds."""
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # it makes heavy imports three times dearer
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime) * 1000


def in_turns(contenders: Mapping[str, Contender], rounds: int, warm: int = 1) -> dict[str, float]:
    """Return the median CPU time of each contender, in milliseconds."""
    taken: dict[str, list[float]] = {label: [] for label in contenders}
    for nth in range(rounds + warm):
        for label, one in contenders.items():
            one.before()
            spent = cpu_ms(one.command, one.folder)
            if nth >= warm:  # the first rounds write bytecode and warm the disk's cache
                taken[label].append(spent)
    return {label: statistics.median(times) for label, times in taken.items()}


def table(title: str, medians: Mapping[str, float], floor: str, goals: Mapping[str, float]) -> bool:
    """Print medians and their ratios to ``floor``; return whether every goal is met."""
    print(title)
    met = True
    for label, middle in medians.items():
        ratio = middle / medians[floor]
        goal = goals.get(label)
        met = met and (goal is None or ratio <= goal)
        aim = f"  goal {goal}x" if goal else ""
        print(f"  {label:<32} {middle:9.1f} ms  {ratio:5.2f}x{aim}")
    return met
