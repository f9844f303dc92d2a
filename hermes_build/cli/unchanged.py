"""The ``check`` that finds nothing changed: answered before the command line is even built.

Building it costs three times as much as this answer, and most runs of ``check`` end here.
"""

from __future__ import annotations

from hermes_build.compiler.root import NoProject, find_root
from hermes_build.compiler.verdict import remembered, stamp


def last_verdict(root: str, *, imports: bool) -> str | None:
    """Return what the last ``check`` of this very state found, with or without imports.

    It is the JSON text of ``[files, findings]``.
    """
    return remembered(root, mark(imports=imports))


def mark(*, imports: bool) -> str:
    """Return the stamp of a verdict: all but the project's files that can change it."""
    return stamp("imports" if imports else "no imports", environment=imports)


def answer() -> bool:
    """Print the answer to a plain ``hermes-build check``, if it is known and clean."""
    try:
        verdict = last_verdict(find_root("."), imports=True)
        line = None if verdict is None else clean_line(verdict)
        if line is not None:
            print(line, flush=True)
    except (NoProject, OSError):
        return False  # the whole command line meets the same obstacle, and has words for it
    return line is not None


def clean_line(verdict: str) -> str | None:
    """Return the line that says so, when remembered findings (``[files, []]``) are none."""
    files, _, rest = verdict.removeprefix("[").partition(",")
    noun = "file" if files == "1" else "files"
    return f"Found nothing to report in {files} {noun}." if rest.strip() == "[]]" else None
