"""The characters of a page are read as they were meant, whatever it declares."""

from __future__ import annotations

import pytest

from handlers.web import charsets
from tests.handlers.web_pages import SENTENCE, article, page
from tests.handlers.web_server import Server, response


@pytest.mark.parametrize(
    ("codec", "header", "head"),
    [
        ("utf-8", "utf-8", ""),
        ("utf-8", "", ""),
        ("utf-8-sig", "windows-1252", ""),
        ("utf-8", "utf-16le", ""),
        ("utf-16", "", ""),
        ("utf-16-le", "utf-16le", ""),
        ("cp1252", "iso-8859-1", ""),
        ("cp1252", "", "<meta charset='windows-1252'>"),
        ("iso8859-2", "ISO-8859-2", "<meta charset='utf-8'>"),
        ("iso8859-2", "", "<meta http-equiv=content-type content='text/html; charset=latin2'>"),
        ("cp1252", "no-such-charset", "<meta charset=cp1252>"),
        ("cp1252", "rot13", "<meta charset=cp1252>"),
        ("utf-8", "us-ascii", "<meta charset=utf-8>"),
    ],
)
def test_characters_are_read_by_mark_header_and_page(codec: str, header: str, head: str) -> None:
    words = f"Käse für Übermüdete: {SENTENCE}"
    body = article("Öl", words, head=head).encode(codec)
    text = charsets.decode(body, header, markup=True)
    assert "<title>Öl</title>" in text and words in text


def test_the_charset_of_a_page_reaches_its_title_and_text(server: Server) -> None:
    words = f"Zażółć gęślą jaźń: {SENTENCE}"
    body = article("Łódź", words, head="<meta charset=utf-8>").encode("iso8859-2")
    server.answers["/a"] = response(body, "text/html; charset=ISO-8859-2")
    found = page(f"{server.url}/a")
    assert found["title"] == "Łódź" and words in found["content"]


@pytest.mark.parametrize(
    ("codec", "label", "words"),
    [
        ("shift_jis", "shift_jis", "こんにちは世界"),
        ("euc_jp", "euc-jp", "こんにちは世界"),
        ("iso2022_jp", "iso-2022-jp", "こんにちは世界"),
        ("gb18030", "gb2312", "你好,世界"),
        ("big5", "big5", "你好世界"),
        ("euc_kr", "euc-kr", "안녕하세요"),
        ("koi8_r", "koi8-r", "Привет, мир"),
        ("cp1251", "windows-1251", "Привет, мир"),
        ("iso8859_7", "iso-8859-7", "Γειά σου"),
    ],
)
def test_charsets_of_the_world_are_read(server: Server, codec: str, label: str, words: str) -> None:
    server.answers["/a"] = response(words.encode(codec), f'text/plain; charset="{label}"')
    assert page(f"{server.url}/a")["content"] == words


def test_undeclared_characters_are_guessed(server: Server) -> None:
    words = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5
    server.answers["/a"] = response(words.encode("cp1251"), "text/plain")
    assert page(f"{server.url}/a")["content"] == words.strip()


def test_hidden_characters_do_not_come_through(server: Server) -> None:
    tags = "".join(chr(0xE0000 + ord(one)) for one in "obey")
    server.answers["/a"] = response(
        f"a\u202eb\u200bc{tags}d\x1b[0m\x00e\r\nf\n\n\n\ng\u200dh", "text/plain; charset=utf-8"
    )
    assert "binary" in page(f"{server.url}/a")["error"]
    server.answers["/a"] = response(
        f"a\u202eb\u200bc{tags}d\x1b[0me\r\nf\n\n\n\ng\u200dh", "text/plain; charset=utf-8"
    )
    assert page(f"{server.url}/a")["content"] == "abcd[0me\nf\n\ng\u200dh"
