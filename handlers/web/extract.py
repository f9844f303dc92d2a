"""What `web_extract` does: the text of a few pages, fetched side by side."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from handlers import web
from handlers.files.encodings import HEAD, binary_kind
from handlers.refusal import Refusal
from handlers.room import fitting
from handlers.web import addresses, charsets
from handlers.web.cleaning import clean, one_line
from handlers.web.fetch import Answer, Limits, fetch

READ_SECONDS = 30.0
"""How long finding the text of one page may take, apart from fetching it."""

MOST_ROOM = 120_000
"""How many characters the texts of all pages take together; below the tool's `max_result_chars`."""

MOST_READERS = 2
"""How many pages are read at a time; fetching them goes on side by side."""

_MARKUP = frozenset(("text/html", "application/xhtml+xml"))
_UNTOLD = frozenset(("", "application/octet-stream", "binary/octet-stream"))
# Without the atomic groups a row of comments could be divided in more ways than can be tried.
_LOOKS_LIKE_HTML = re.compile(
    rb"\s*+(?>(?><!--.{0,2000}?-->)\s*+)*+<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_CREDENTIALS = re.compile(r"(?<=//)[^/?#@]*@")
# All that a Python needs to start; what else is in the environment is no business of a parser.
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Wish:
    """How pages are wanted: ``form`` (``markdown`` or ``text``), and which of their characters."""

    form: str = "markdown"
    max_chars: int = 15_000
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a call is held to: limits of fetching, seconds of reading, and where it may go."""

    limits: Limits = field(default_factory=Limits)
    read_seconds: float = READ_SECONDS
    private: bool = False
    resolver: addresses.Resolver = addresses.look_up


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    about: dict[str, Any] = field(default_factory=dict)


async def extract(urls: Sequence[str], wish: Wish, terms: Terms) -> list[dict[str, Any]]:
    """One entry for each URL, in their order.

    An entry has ``url`` and either ``error`` or ``content`` with ``title``, ``media_type`` and
    ``chars`` (of the whole text); where the text was cut, also ``omitted_chars``, ``next_offset``
    and a ``note`` in words. A URL that is given twice is fetched once.
    """
    readers = asyncio.Semaphore(MOST_READERS)
    async with asyncio.TaskGroup() as group:
        tasks = {
            url: group.create_task(_entry(url, wish, terms, readers, MOST_ROOM // len(urls)))
            for url in dict.fromkeys(urls)
        }
    return [tasks[url].result() for url in urls]


async def _entry(
    url: str, wish: Wish, terms: Terms, readers: asyncio.Semaphore, room: int
) -> dict[str, Any]:
    shown = _CREDENTIALS.sub("***@", url, count=1)
    try:
        answer = await fetch(
            url, limits=terms.limits, private=terms.private, resolver=terms.resolver
        )
        async with readers:
            found = await _read(answer, wish, terms)
        return {"url": shown, **_page(answer, found, wish, url, room)}
    except Refusal as refusal:
        return {"url": shown, "error": str(refusal), **refusal.fields}
    except Exception as error:
        # The other pages of the call are not to be lost to what nobody foresaw in this one.
        return {"url": shown, "error": f"The page could not be read ({type(error).__name__})."}


async def _read(answer: Answer, wish: Wish, terms: Terms) -> _Text:
    kind = kind_of(answer)
    if kind == "pdf":
        return await _by_reader("PDF file", kind, answer.data, answer, wish, terms)
    text = await asyncio.to_thread(
        charsets.decode, answer.data, answer.charset, markup=kind != "text"
    )
    if kind != "html":
        return _Text(await asyncio.to_thread(clean, text))
    return await _by_reader("page", kind, text.encode("utf-8", "replace"), answer, wish, terms)


def kind_of(answer: Answer) -> str:
    """How an answer is to be read: ``html``, ``pdf``, ``xml`` or ``text``; its bytes decide first.

    Raises:
        Refusal: when it is empty, or is binary data of another kind.
    """
    head = answer.data[:HEAD]
    if not head.strip():
        raise Refusal("The page is empty.")
    declared_pdf = answer.media_type == "application/pdf"
    if head.lstrip().startswith(b"%PDF-") or (declared_pdf and b"%PDF-" in head[:1024]):
        return "pdf"
    # In these encodings NUL bytes are parts of letters.
    wide = charsets.codec(answer.charset).startswith(("utf-16", "utf-32"))
    binary = "" if wide else binary_kind(head)
    if binary:
        raise Refusal(
            f"The URL leads to {binary} ({len(answer.data):,} bytes), which has no text to extract."
        )
    untold = answer.media_type in _UNTOLD
    if answer.media_type in _MARKUP or (untold and _LOOKS_LIKE_HTML.match(head)):
        return "html"
    return "xml" if answer.media_type.endswith(("/xml", "+xml")) else "text"


async def _by_reader(
    what: str, kind: str, data: bytes, answer: Answer, wish: Wish, terms: Terms
) -> _Text:
    """Let a process of its own find the text; it is killed when its time is over.

    Raises:
        Refusal: when it finds none.
    """
    asked = {"kind": kind, "url": answer.url, "format": wish.form, "seconds": terms.read_seconds}
    try:
        async with asyncio.timeout(terms.read_seconds):
            written = await _run_reader(json.dumps(asked).encode() + b"\n" + data)
    except TimeoutError:
        raise Refusal(
            f"Finding the text of the {what} took longer than {terms.read_seconds:g} seconds."
        ) from None
    if not written:
        raise Refusal(f"The {what} cannot be read: it brings down the program that parses it.")
    found = json.loads(written)
    if "error" in found:
        raise Refusal(f"The {what} cannot be read: {found['error']}.")
    text = await asyncio.to_thread(clean, found.pop("text"))
    if not text:
        raise Refusal("The page shows no text without running its scripts, which is not done here.")
    return _Text(text, found)


@cache
def _reader() -> str:
    """The source of the program that parses: in a bundle there is no file to run."""
    return files(web).joinpath("reader.py").read_text("utf-8")


async def _run_reader(given: bytes) -> bytes:
    environ = {name: os.environ[name] for name in _KEPT if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # the current folder may hold modules of any name
        "-c",
        _reader(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environ,
    )
    try:
        written, _ = await process.communicate(given)
        return written if process.returncode == 0 else b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _page(answer: Answer, found: _Text, wish: Wish, url: str, room: int) -> dict[str, Any]:
    """The entry of a page whose text was found, of which as much is given as there is room for."""
    total = len(found.text)
    if wish.offset and wish.offset >= total:
        raise Refusal(
            f"The text of the page has {total:,} characters; there is none at offset "
            f"{wish.offset:,}.",
            chars=total,
        )
    content = found.text[wish.offset : wish.offset + wish.max_chars]
    content = content[: fitting(content, room)]
    end = wish.offset + len(content)
    page: dict[str, Any] = {"title": one_line(str(found.about.get("title", "")), 300)}
    if answer.url != url:
        page["final_url"] = answer.url
    for name in ("author", "published"):
        if value := one_line(str(found.about.get(name, "")), 200):
            page[name] = value
    page |= {"media_type": answer.media_type, "content": content, "chars": total}
    notes = []
    if end < total:
        page |= {"omitted_chars": total - end, "next_offset": end}
        notes.append(f"{total - end:,} more characters were left out; read on with offset={end}.")
    if "pages" in found.about:
        read = page["pages_read"] = found.about["pages_read"]
        pages = page["pages"] = found.about["pages"]
        if read < pages:
            notes.append(f"Only the first {read:,} of {pages:,} pages were read.")
    if notes:
        page["note"] = " ".join(notes)
    return page


def terms_of(environ: Mapping[str, str] = os.environ) -> Terms:
    """The terms that the environment sets."""
    return Terms(private=addresses.allows_private(environ))
