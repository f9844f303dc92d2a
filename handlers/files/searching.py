"""What `search_files` does: lines by expression, or files by name, one page at a time."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from typing import Any

from handlers.files import backends
from handlers.files.backends import Request, Running
from handlers.files.events import paths, read_events
from handlers.files.globs import Glob, compile_glob
from handlers.files.nearest import missing
from handlers.files.pages import Page
from handlers.files.workspace import Place, Workspace, check_regular
from handlers.refusal import Refusal

FALLBACK = (
    "ripgrep is not installed, so Python searched: hidden files and version control folders are "
    "skipped, but .gitignore is not read"
)

OTHER_DIALECT = "ripgrep cannot read this expression, so Python searched; .gitignore is not read"

_LINE_END = re.compile(r"(?<!\\)(?:\\\\)*\\n")
_NEGATED = re.compile(r"\[\^[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Query:
    """The arguments of a call, as the tool's spec describes them."""

    pattern: str
    target: str = "content"
    path: str = "."
    file_glob: str | None = None
    output_mode: str = "content"
    context: int = 0
    limit: int = 50
    offset: int = 0
    ignore_case: bool = False
    literal: bool = False
    include_hidden: bool = False


def search_files(
    workspace: Workspace, query: Query, program: str | None, deadline: float = backends.DEADLINE
) -> dict[str, Any]:
    """One page of what is found, in the order of the paths.

    ``program`` is ripgrep's path; without it our own search is started, which gives the same
    answers, except that it reads no ignore files and that its expressions know the accents of
    Latin-1. The answer has ``results`` (their form depends on the mode), ``total``, ``backend``,
    and where they apply ``next_offset``, ``incomplete`` and ``notes``.

    Raises:
        Refusal: when the place does not exist, or a pattern cannot be read.
    """
    _check(query)
    globs = _globs(query)
    request = _request(workspace, query, globs)
    if program is None:
        return _python(request, query, globs, workspace, deadline, FALLBACK)
    page = _page(request, query, globs)
    command = backends.ripgrep_command(program, request)
    with backends.running(workspace, request.folder, command, b"", deadline) as run:
        _read(run, page, request)
    if run.code == 2 and page.total == 0 and run.complaint and not run.stopped:
        # Python's expressions can do what ripgrep's cannot, such as look around.
        return _python(request, query, globs, workspace, deadline, OTHER_DIALECT)
    return page.answer("ripgrep", run.stopped, deadline)


def _python(
    request: Request,
    query: Query,
    globs: tuple[Glob, ...],
    workspace: Workspace,
    deadline: float,
    note: str,
) -> dict[str, Any]:
    page = _page(request, query, globs)
    page.notes.append(note)
    given = backends.finder_request(request)
    command = backends.finder_command()
    with backends.running(workspace, request.folder, command, given, deadline) as run:
        _read(run, page, request)
    if page.error:
        raise Refusal(
            f"The pattern is not a regular expression that can be used: {page.error}. Escape the "
            "characters that mean themselves, or set literal.",
            pattern=query.pattern,
        )
    if run.code and not run.stopped and not run.enough:
        raise Refusal("The search ended unexpectedly; narrow it by path or file_glob.")
    return page.answer("python", run.stopped, deadline)


def _read(run: Running, page: Page, request: Request) -> None:
    if request.target == "files":
        for path in paths(run.output):
            if page.full:
                run.enough = True
                return
            page.add_path(path)
        return
    for event in read_events(run.output):
        page.add_event(event)
        if page.full or page.error:
            run.enough = True
            return


def _request(workspace: Workspace, query: Query, globs: tuple[Glob, ...]) -> Request:
    place = workspace.locate(query.path)
    status = workspace.status(place)
    if status is None:
        raise missing(workspace, place)
    folder, start = place.parts, "."
    if not stat.S_ISDIR(status.st_mode):
        check_regular(status, place)
        folder, start = place.parent, place.name
    return Request(
        target=query.target,
        pattern=query.pattern if query.target == "content" else "",
        folder=folder,
        start=start,
        glob=globs[0] if globs else None,
        literal=query.literal,
        ignore_case=query.ignore_case,
        hidden=query.include_hidden,
        context=query.context if query.output_mode == "content" else 0,
    )


def _page(request: Request, query: Query, globs: tuple[Glob, ...]) -> Page:
    folder = Place(request.folder).shown
    return Page(
        mode="files" if query.target == "files" else query.output_mode,
        prefix="" if folder == "." else f"{folder}/",
        globs=globs,
        offset=query.offset,
        limit=query.limit,
        context=request.context,
        # A file that is named is searched even when its name begins with a dot.
        hidden=query.include_hidden or request.start != ".",
    )


def _globs(query: Query) -> tuple[Glob, ...]:
    """The patterns that a file's path must fit, every one of them."""
    given = [("pattern", query.pattern)] if query.target == "files" else []
    given += [("file_glob", query.file_glob)] if query.file_glob else []
    globs = []
    for parameter, pattern in given:
        try:
            globs.append(compile_glob(pattern))
        except ValueError as error:
            raise Refusal(f"{parameter} {pattern!r}: {error}.", pattern=pattern) from None
    return tuple(globs)


def _check(query: Query) -> None:
    """Refuse patterns that no program could be given, or that could never be found."""
    try:
        unusable = "\0" in query.pattern + (query.file_glob or "")
        query.pattern.encode("utf-8")
    except UnicodeEncodeError:
        unusable = True
    if unusable:
        raise Refusal("The pattern holds a character that no text file holds.")
    if query.target == "files":
        return
    escaped = not query.literal and _LINE_END.search(_NEGATED.sub("", query.pattern))
    if "\n" in query.pattern or escaped:
        raise Refusal("The search goes line by line, so a pattern cannot hold a line end.")
