"""Findings that a project has decided to live with, each for a reason."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from hermes_build.compiler.codes import CODES, which_code
from hermes_build.compiler.diagnostics import Diagnostic, Findings
from hermes_build.compiler.load import Suppression
from hermes_build.compiler.project import Lint

LINT = "HB12"
BUNDLING = "HB8"
"""Findings that only ``hermes-build bundle`` makes, and that are not missed by other commands."""

_JUDGED_BY_PEOPLE = (
    *("HB8101", "HB8102", "HB8109", "HB8110"),
    *("HB8115", "HB8116", "HB8117"),
)
"""Errors that say what looks wrong: somebody who knows better may say so, with a reason."""

# HB1208 is no matter of taste: the import of such a handler fails.
_ALWAYS = ("HB1208", "HB1290", "HB1291", "HB1292", "HB1293")


def suppressible(code: str) -> bool:
    """Whether a code may be suppressed: lint rules and warnings may, most other errors may not."""
    if code in _ALWAYS:
        return False
    return code.startswith(LINT) or code in _JUDGED_BY_PEOPLE or CODES[code].severity != "error"


class Suppressions:
    """What is suppressed, in lines and in the settings, and which of it hid something."""

    def __init__(self, inline: Iterable[Suppression], lint: Lint) -> None:
        self._lint = lint
        self._inline = tuple(inline)
        self._used: set[object] = set()
        self._by_line: dict[tuple[str, int], list[tuple[Suppression, str]]] = {}
        for one in self._inline:
            for code in one.codes:
                self._by_line.setdefault((one.span.path, one.line), []).append((one, code))

    def hides(self, one: Diagnostic) -> bool:
        """Whether a finding is suppressed or not selected; what hides it counts as used."""
        is_lint = one.code.startswith(LINT) and one.code not in _ALWAYS
        if is_lint and not one.code.startswith(self._lint.select):
            return True
        may = suppressible(one.code) or (one.severity != "error" and one.code not in _ALWAYS)
        if one.span is None or not may:
            return False
        for inline, code in self._by_line.get((one.span.path, one.span.line), ()):
            if code == one.code:
                self._used.add((inline, code))
                return True
        for row in self._lint.ignore:
            if one.code.startswith(row.code) and _matches(one.span.path, row.files):
                self._used.add(row)
                return True
        return False

    def visible(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the findings that nothing hides."""
        return [one for one in findings if not self.hides(one)]

    def mistakes(self) -> Findings:
        """Return findings on the suppressions themselves, whatever they hide."""
        findings = Findings()
        for one in self._inline:
            if not one.codes:
                findings.add(
                    "HB1292",
                    "the suppression names no code",
                    one.span,
                    help=("write `# hermes-build: ignore[CODE] reason`",),
                )
                continue
            for code in one.codes:
                if code not in CODES:
                    findings.add("HB1292", f"`{code}` is no code", one.span, help=which_code(code))
                elif not suppressible(code):
                    findings.add(
                        "HB1293",
                        f"{code} ({CODES[code].name}) cannot be suppressed",
                        one.span,
                        help=("only lint rules and warnings can be; mend the cause",),
                    )
            if not one.reason:
                findings.add(
                    "HB1290",
                    f"the suppression of {', '.join(one.codes)} gives no reason",
                    one.span,
                    label="why is this all right?",
                    help=("write the reason behind the bracket",),
                )
        return findings

    def unused(self, *, bundling: bool = False) -> Findings:
        """Return a finding for each suppression that hid nothing, once every rule has run.

        With ``bundling``, those of findings that only bundling makes; else all the others.
        """
        findings = Findings()
        for one in self._inline:
            for code in one.codes:
                known = code in CODES and suppressible(code)
                known = known and code.startswith(BUNDLING) is bundling
                if known and (one, code) not in self._used:
                    findings.add(
                        "HB1291",
                        f"the suppression of {code} hides nothing",
                        one.span,
                        help=("take it out",),
                    )
        for row in self._lint.ignore:
            if row not in self._used and row.code.startswith(BUNDLING) is bundling:
                findings.add(
                    "HB1291",
                    f"the suppression of {row.code} in {row.files} hides nothing",
                    row.span,
                    help=("take it out of the settings",),
                )
        return findings


def _matches(path: str, glob: str) -> bool:
    return glob == "**" or fnmatchcase(path, glob)
