"""Telling of a compiled program from a process of its own: JSON on standard output, a line each.

Handlers and check functions are foreign code: they print, start programs and threads, and crash.
The working directory is where packages are looked for first.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Callable
from json import dumps
from typing import Any, NoReturn, TypeAlias

Say: TypeAlias = Callable[[dict[str, Any]], object]
"""Writes one line."""


def tell(module: str, report: Callable[[str, Say], bool]) -> NoReturn:
    """Run the command ``python -m MODULE PACKAGE``, and end the process.

    ``report`` gets the package and what writes its lines. The exit code is 0 where it returns True.
    """
    if len(sys.argv) != 2:
        print(f"usage: python -m {module} PACKAGE", file=sys.stderr)
        sys.exit(2)
    # Foreign code, and programs that it starts, may write to descriptor 1 at any time.
    answer = os.dup(1)
    os.dup2(2, 1)
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    faulthandler.enable()
    with os.fdopen(answer, "w", encoding="utf-8") as stream:

        def say(line: dict[str, Any]) -> None:
            # In ASCII, since a path may hold bytes that no encoding of file names explains.
            stream.write(dumps(line) + "\n")
            stream.flush()

        is_well = report(sys.argv[1], say)
    # Threads that foreign code started and left must not keep the answer from its reader.
    sys.stderr.flush()
    os._exit(not is_well)
