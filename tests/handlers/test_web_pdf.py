"""PDF files are read page by page, and one that gives no text says why."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable

import pytest

from handlers.web import reader
from tests.handlers.web_pages import page, pdf
from tests.handlers.web_server import Server, response


@pytest.mark.parametrize("head", ["", "%PDF comes late: \n\n"])
def test_a_pdf_file_is_read_page_by_page(server: Server, head: str) -> None:
    data = head.encode() + pdf("First page here", "Second page there", title="Two pages")
    server.answers["/a"] = response(data, "application/pdf")
    found = page(f"{server.url}/a")
    assert found["content"] == "First page here\n\nSecond page there"
    assert found["title"] == "Two pages" and (found["pages"], found["pages_read"]) == (2, 2)


def test_a_pdf_file_under_a_false_name_is_read_as_one(server: Server) -> None:
    server.answers["/a"] = response(pdf("Here all the same"), "text/html")
    assert page(f"{server.url}/a")["content"] == "Here all the same"


def test_a_pdf_file_is_left_when_its_time_is_over() -> None:
    found = reader.read_pdf(pdf("one", "two", "three"), seconds=-1)
    assert (found["text"], found["pages"], found["pages_read"]) == ("one", 3, 1)


def test_pages_of_a_pdf_file_that_were_not_read_are_counted(server: Server) -> None:
    server.answers["/a"] = response(pdf(*["x"] * (reader.MOST_PAGES + 3)), "application/pdf")
    note = page(f"{server.url}/a")["note"]
    assert note == "Only the first 500 of 503 pages were read."


def encrypted(password: str) -> bytes:
    import pypdf

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("Hidden words")))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def bomb() -> bytes:
    """A PDF file of less than a megabyte with a page of 100 MB."""
    stream = zlib.compress(b" " * 100_000_000, 1)
    data = pdf("@").replace(b"BT /F1 12 Tf 72 720 Td (@) Tj ET", stream)
    return data.replace(b"/Length 32", f"/Length {len(stream)} /Filter /FlateDecode".encode())


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: b"%PDF-1.7\nnothing else", "is damaged"),
        (lambda: pdf("x").replace(b"/Pages 2 0 R", b"/Pages 9 0 R"), "cannot be read"),
        (lambda: pdf(""), "holds no text"),
        (lambda: encrypted("secret"), "encrypted and needs a password"),
        (bomb, "none of its pages can be read"),
    ],
    ids=["damaged", "without-pages", "scanned", "encrypted", "bomb"],
)
def test_a_pdf_file_that_gives_no_text_says_why(
    server: Server, made: Callable[[], bytes], words: str
) -> None:
    server.answers["/a"] = response(made(), "application/pdf")
    assert words in page(f"{server.url}/a")["error"]


def test_a_pdf_file_encrypted_without_a_password_is_read(server: Server) -> None:
    server.answers["/a"] = response(encrypted(""), "application/pdf")
    assert page(f"{server.url}/a")["content"] == "Hidden words"
