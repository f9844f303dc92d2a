"""What `check` says of a project: from memory, where nothing has changed since it last said so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hermes_build.cli.unchanged import mark
from hermes_build.compiler.verdict import remember, remembered, stamp

if TYPE_CHECKING:
    from hermes_build.compiler.diagnostics import Diagnostic


class Verdict(NamedTuple):
    """The findings, and how many files they are on.

    ``complete`` is false where errors kept later stages from looking. ``text`` is what is
    remembered under ``stamp``, None where nothing is.
    """

    root: str
    stamp: str
    findings: tuple[Diagnostic, ...]
    files: int
    complete: bool
    text: str | None

    def still_stands(self) -> bool:
        """Whether all that was judged is still as it was, as far as that is remembered."""
        return self.text is None or remembered(self.root, self.stamp) == self.text


def verdict(root: str, *, imports: bool = True, no_cache: bool = False) -> Verdict:
    """Return what `check` says of the project at ``root``; ``imports`` says to import handlers.

    With ``no_cache``, nothing is taken from earlier runs, and nothing is remembered.
    """
    import json

    all_but_files = mark(imports=imports)
    known = None if no_cache else remembered(root, all_but_files)
    if known is not None:
        from hermes_build.compiler.diagnostics import Diagnostic

        files, rows, *more = json.loads(known)
        findings = tuple(Diagnostic.from_json(row) for row in rows)
        return Verdict(root, all_but_files, findings, files, not more, known)
    # All that follows is imported only when something has changed since the last verdict.
    from hermes_build.compiler.judge import judge
    from hermes_build.compiler.memory import forgetful, open_memory

    folder = Path(root)
    memory = forgetful() if no_cache else open_memory(folder, stamp())
    judged = judge(folder, memory, imports=imports)
    text = None
    if judged.lasting and not no_cache:
        rows = [one.to_json() for one in judged.findings]
        more = [] if judged.complete else ["more follows"]
        text = json.dumps([judged.files, rows, *more])
        if not remember(judged.watch, all_but_files, text):
            text = None
    return Verdict(root, all_but_files, judged.findings, judged.files, judged.complete, text)
