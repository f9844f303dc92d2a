"""A program of its own that finds the text of one HTML page or PDF file.

Such files come from anybody, and the parsers are large and partly written in C. In a process of its
own a page that takes for ever, fills the memory or brings a parser down costs one page, and nothing
else: the caller kills the process, which has no secrets in its environment. It imports nothing of
this project, so that it starts quickly.

It reads one line of JSON (``kind``: ``html`` or ``pdf``; ``url``; ``format``: ``markdown`` or
``text``; ``seconds``) and after it the file, HTML as UTF-8. It writes one JSON object: ``text``,
``title``, ``author``, ``published``, for PDF files ``pages`` and ``pages_read``; or
``error`` alone.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import suppress
from html.parser import HTMLParser
from typing import Any

MOST_MEMORY = 2 << 30
"""Bytes of address space that the process may use."""

MOST_TREE = 2_000_000
"""Characters of a page up to which its main text is looked for; a larger one is read plainly."""

MOST_PAGES = 500
"""Pages of a PDF file that are read."""

MOST_TEXT = 5_000_000
"""Characters of a PDF file's text after which no further page is read."""

_BLOCK_NAMES = (
    "address article aside blockquote br caption dd details div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol option p pre section summary table "
    "title tr ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_UNSHOWN = frozenset(("script", "style", "svg", "template", "title"))


def main() -> None:
    """Answer the one request on standard input."""
    # Parsers that print must not spoil the answer.
    answers = os.dup(1)
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.buffer.readline())
    _limit(asked["seconds"])
    data = sys.stdin.buffer.read()
    try:
        if asked["kind"] == "pdf":
            answer = read_pdf(data, asked["seconds"] * 0.6)
        else:
            answer = read_html(data.decode("utf-8", "replace"), asked["url"], asked["format"])
    except (MemoryError, RecursionError):
        answer = {"error": "it needs too much memory"}
    with open(answers, "wb") as stream:
        stream.write(json.dumps(answer).encode())


def _limit(seconds: float) -> None:
    """Let the system end this process should nobody else do so."""
    if sys.platform != "win32":
        import resource

        for what, most in (
            (resource.RLIMIT_AS, MOST_MEMORY),
            (resource.RLIMIT_CPU, int(seconds) + 1),
            (resource.RLIMIT_CORE, 0),
        ):
            with suppress(OSError, ValueError):
                resource.setrlimit(what, (most, most))


def read_html(page: str, url: str, form: str) -> dict[str, Any]:
    """The main text of a page, or all of its text where none can be told from the rest."""
    answer: dict[str, Any] = {}
    if len(page) <= MOST_TREE:
        # One broken page in a hundred thousand brings the parsers to errors of every kind; all of
        # its text is still better than none.
        with suppress(Exception):
            answer = _main_text(page, url, form)
    if not answer.get("text"):
        plain = _PlainText()
        plain.feed(page)
        plain.close()
        answer = {
            "title": answer.get("title") or "".join(plain.title),
            "text": "\n".join(filter(None, (" ".join(line.split()) for line in plain.lines()))),
        }
    return answer


def _main_text(page: str, url: str, form: str) -> dict[str, Any]:
    import trafilatura

    tree = trafilatura.load_html(page)
    if tree is None:
        return {}
    about = trafilatura.extract_metadata(tree, default_url=url)
    markdown = form == "markdown"
    text = trafilatura.extract(
        tree,
        url=url,
        output_format="markdown" if markdown else "txt",
        include_links=markdown,
    )
    return {
        "text": text or "",
        "title": about.title or "",
        "author": about.author or "",
        "published": about.date or "",
    }


class _PlainText(HTMLParser):
    """All the text that a page shows, without building a tree of it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.title: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSHOWN:
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _UNSHOWN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)
        elif self._hidden == ["title"]:
            self.title.append(data)

    def lines(self) -> list[str]:
        return "".join(self.pieces).split("\n")


def read_pdf(data: bytes, seconds: float) -> dict[str, Any]:
    """The text of a PDF file's pages, as many as can be read in the given seconds."""
    import pypdf
    import pypdf.errors

    started = time.monotonic()
    try:
        document = pypdf.PdfReader(io.BytesIO(data))
        if document.is_encrypted and not document.decrypt(""):
            return {"error": "it is encrypted and needs a password"}
        count = len(document.pages)
    except (MemoryError, RecursionError):
        raise
    except pypdf.errors.DependencyError:
        return {"error": "it is encrypted in a way that cannot be undone here"}
    except Exception:  # a damaged file brings out errors of every kind
        return {"error": "it is damaged"}
    texts: list[str] = []
    chars = unreadable = 0
    for index in range(min(count, MOST_PAGES)):
        if chars > MOST_TEXT or (index and time.monotonic() - started > seconds):
            break
        try:
            texts.append(document.pages[index].extract_text())
        except (MemoryError, RecursionError):
            raise
        except Exception:  # the other pages may be sound
            texts.append("")
            unreadable += 1
        chars += len(texts[-1])
    if not any(map(str.strip, texts)):
        why = "none of its pages can be read" if unreadable else "its pages may be scanned images"
        return {"error": f"it holds no text ({why})"}
    about = _about(document)
    return {**about, "text": "\n\n".join(texts), "pages": count, "pages_read": len(texts)}


def _about(document: Any) -> dict[str, str]:
    try:
        found = document.metadata
        return {"title": str(found.title or ""), "author": str(found.author or "")}
    except Exception:  # what a file says of itself may be missing, or anything at all
        return {}


if __name__ == "__main__":
    main()
