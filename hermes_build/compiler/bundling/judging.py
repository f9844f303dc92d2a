"""What the text of a bundle must not hold: secrets, and paths of the machine that made it."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Mapping

from hermes_build.compiler.bundling.secrets import find_secrets
from hermes_build.compiler.diagnostics import Findings, Span

_HOME = re.compile(
    r"(?<![\w.~/-])(?:/(?:home|Users)/|[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/))([\w.-]+)"
)
_NOBODY = frozenset(("user", "username", "you", "me", "name", "someone", "somebody"))
"""Names that people in examples have."""


def find_in_texts(texts: Mapping[str, bytes], findings: Findings) -> None:
    """Report every secret in the texts, which are given by their path in the project."""
    for path, data in texts.items():
        text = _decoded(data)
        lines = None
        for one in find_secrets(text, code=path.endswith((".py", ".pyi"))):
            lines = lines or _Lines(path, text)
            findings.add(
                "HB8110",
                f"`{path}` holds {one.what}, and would take it along",
                lines.span(one.start, one.end),
                label="looks like a secret",
                help=("read it from the environment when the tool runs", "revoke it if it is real"),
            )


def find_paths(
    root: str, specs: Mapping[str, bytes], generated: Mapping[str, bytes], findings: Findings
) -> None:
    """Report paths of this machine: of the project at ``root``, and of people's folders.

    What a spec says stands in the generated files too, and is reported where people wrote it.
    """
    known: set[str] = set()
    for texts in (specs, generated):
        for path, data in texts.items():
            text = _decoded(data)
            for start, end in _paths(text, root):
                found = text[start:end]
                if texts is generated and found in known:
                    continue
                known.add(found)
                findings.add(
                    "HB8109",
                    f"`{path}` holds a path of one machine: `{found}`",
                    _Lines(path, text).span(start, end),
                    label="not there elsewhere",
                    help=("write it relative to the workspace, or with a made-up name",),
                )


def _paths(text: str, root: str) -> list[tuple[int, int]]:
    found = [match.span() for match in _HOME.finditer(text) if match[1].lower() not in _NOBODY]
    if root.count(os.sep) > 1 and root in text:
        pattern = re.compile(rf"(?<![\w.~/-]){re.escape(root)}(?![\w.-])")
        covered = [range(*span) for span in found]
        more = (match.span() for match in pattern.finditer(text))
        found += [span for span in more if not any(span[0] in one for one in covered)]
    return sorted(found)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class _Lines:
    """Turns offsets in a text into lines and columns."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def span(self, start: int, end: int) -> Span:
        line, column = self._position(start)
        end_line, end_column = self._position(end)
        return Span(self._path, line, column, end_line, end_column)

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1
