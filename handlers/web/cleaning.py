"""Text from the web as a model may see it: without markup and without hidden characters."""

from __future__ import annotations

import html
import re

# Controls, and characters that show nothing and can hide a message: soft hyphens, zero-width
# marks, changes of direction, tags, lone surrogates. The joiners U+200C and U+200D stay, because
# words of some languages and many emoji need them; tabs and line ends are text.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LINE_END = re.compile("\r\n?|[\x0c\x85\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
_TAG = re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>", re.DOTALL)


def clean(text: str) -> str:
    """A text of many lines without hidden characters, and with at most one blank line at a time."""
    text = _HIDDEN.sub("", _LINE_END.sub("\n", text))
    return _BLANK_LINES.sub("\n\n", text).strip()


def one_line(text: str, most: int) -> str:
    """A text on one line, without hidden characters and of ``most`` characters at most."""
    text = " ".join(_HIDDEN.sub("", text).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def without_markup(text: str, most: int) -> str:
    """A snippet as `one_line`, without HTML tags and with its entities as characters."""
    # Looking for tags in a text that only pretends to have some takes the square of its length.
    return one_line(html.unescape(_TAG.sub("", text[: most * 10])), most)
