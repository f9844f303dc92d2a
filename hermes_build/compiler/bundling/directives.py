"""``# hermes-build: ignore[CODE] reason`` in what goes into a bundle: for findings of bundling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from hermes_build.compiler.diagnostics import Diagnostic, Findings, Span
from hermes_build.compiler.load import Source, Suppression
from hermes_build.compiler.project import Lint
from hermes_build.compiler.suppress import BUNDLING, Suppressions

_DIRECTIVE = re.compile(
    r"(?:^|(?<=[ \t]))#[ \t]*hermes-build:[ \t]*ignore[ \t]*\[([^\]\n]*)\]([^\n]*)"
)
_MARK = b"hermes-build:"
_YAML = (".yaml", ".yml")


def visible(findings: Findings, texts: Mapping[str, bytes], lint: Lint) -> tuple[Diagnostic, ...]:
    """Return the findings that nothing suppresses, with those on the suppressions, by place.

    ``texts`` are the files that may hold a suppression, by their paths in the project. Only those
    of findings of bundling count: every other command judges the rest.
    """
    inline = list(_inline(texts))
    suppressions = Suppressions(inline, lint)
    found = Findings(suppressions.visible(findings.sorted()))
    # Those in YAML were judged when that was read.
    found.extend(Suppressions((one for one in inline if not _is_yaml(one)), Lint()).mistakes())
    found.extend(suppressions.unused(bundling=True))
    return tuple(found.sorted())


def may_suppress(data: bytes) -> bool:
    """Whether a text can hold a suppression at all."""
    return _MARK in data


def _is_yaml(one: Suppression) -> bool:
    return one.span.path.endswith(_YAML)


def _inline(texts: Mapping[str, bytes]) -> Iterator[Suppression]:
    for path, data in texts.items():
        text = data.decode("utf-8", "replace")
        rows = Source(path, text, "").suppressions() if path.endswith(_YAML) else _rows(path, text)
        for one in rows:
            if any(code.startswith(BUNDLING) for code in one.codes):
                yield one


def _rows(path: str, text: str) -> Iterable[Suppression]:
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        match = _DIRECTIVE.search(line)
        if match is None:
            continue
        about = number
        if not line[: match.start()].strip():
            following = (n for n in range(number, len(lines)) if _holds_content(lines[n]))
            about = next(following, number - 1) + 1
        codes = tuple(filter(None, re.split(r"[,\s]+", match[1])))
        end = match.start() + len(match[0].rstrip())
        span = Span(path, number, match.start() + 1, number, end + 1)
        yield Suppression(about, codes, match[2].strip(), span)


def _holds_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
