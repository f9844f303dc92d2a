"""The text of an error as a model may see it.

An error often quotes what a tool read: a web page, a file, another program's output. What could
pass there for a part of the conversation is taken out of it, and credentials are hidden.
"""

from __future__ import annotations

import re

from hermes_build.runtime.masking import mask
from hermes_build.runtime.result import utf8
from hermes_build.token_shapes import MASK

PREFIX = "[TOOL_ERROR] "
"""What every sanitised text begins with."""

MAX_CHARS = 2_000
"""How many characters follow the prefix, at most."""

_ROUNDS = 8
_SLACK = 40
"""More than masking can add to the end of a text that was cut."""

_ROLE_TAG = re.compile(
    r"\s*/?\s*(?:tool_call|function_call|result|response|output|input|system|assistant|user)"
    r"(?:\s.*)?/?\s*",
    re.DOTALL | re.IGNORECASE | re.ASCII,
)
_ANGLES = re.compile("([<>])")
_CDATA = "<![CDATA["
_LANGUAGES = "json|xml|html|markdown|md|text|txt|python|py|bash|sh|yaml|toml|diff|javascript|js"
_BEFORE = re.compile(
    rf"""(?: \s+ | {re.escape(PREFIX.rstrip())}
      # A fence, and the language behind it, unless that is the beginning of the text itself.
      | (?:`{{3,}}|~{{3,}}) (?:[ \t]*[\w.+-]{{1,20}}[ \t]*(?=\r?\n) | [ \t]*(?:{_LANGUAGES})\b)?
    )*+""",
    re.IGNORECASE | re.VERBOSE,
)


def sanitise(text: str) -> str:
    """An error text with `PREFIX`, without framing and credentials, and of bounded length.

    Removed are the tags of roles (``<system>``, ``</tool_call id="1">`` …; what stands between them
    stays, and so does all other XML), CDATA blocks, and code fences at both ends. Credentials are
    masked, lone surrogates replaced. More than `MAX_CHARS` characters end in ``…``. To sanitise a
    sanitised text changes nothing: the prefix is not doubled.
    """
    body = mask(_without_framing(utf8(text)))
    if len(body) > MAX_CHARS:
        body = _cut(body)
    return PREFIX + body


def _cut(body: str) -> str:
    """The beginning of a masked text, cut in front of a mask rather than within it."""
    for end in (MAX_CHARS - 1, MAX_CHARS - _SLACK):
        split = body.find(MASK, end - len(MASK) + 1, end + len(MASK) - 1)
        head = body[: end if split < 0 else split]
        # What the cut left of a value may look like a secret where the whole did not.
        shown = mask(head.rstrip().rstrip("…") + "…")
        if len(shown) <= MAX_CHARS:
            return shown
    return shown[: MAX_CHARS - 1] + "…"


def _without_framing(text: str) -> str:
    """Take framing away until none is left: removing some may join the halves of other."""
    for _ in range(_ROUNDS):
        before = text
        text = _without_role_tags(_without_cdata(_without_ends(text)))
        if text == before:
            return text
    # So many layers are no accident. Without angle brackets there are neither tags nor blocks.
    return _without_ends(text.replace("<", "").replace(">", ""))


def _without_ends(text: str) -> str:
    """The text without space, code fences and prefixes of ours at its ends, however many."""
    begin = _BEFORE.match(text)
    start, end = begin.end() if begin else 0, len(text)
    while end > start:
        if text[end - 1].isspace():
            end -= 1
        elif text[end - 1] in "`~" and text.endswith(text[end - 1] * 3, start, end):
            mark = text[end - 1]
            while end > start and text[end - 1] == mark:
                end -= 1
        else:
            break
    return text[start:end]


def _without_cdata(text: str) -> str:
    """The text without CDATA blocks; of a block without an end, only what begins it goes."""
    first, *others = text.split(_CDATA)
    return first + "".join(one.partition("]]>")[2] if "]]>" in one else one for one in others)


def _without_role_tags(text: str) -> str:
    """The text without the tags of roles, also those that appear when others are removed."""
    kept: list[str] = []
    opened: list[int] = []
    for piece in _ANGLES.split(text):
        if piece == "<":
            opened.append(len(kept))
        elif piece == ">" and opened:
            start = opened.pop()
            if _ROLE_TAG.fullmatch("".join(kept[start + 1 :])):
                del kept[start:]
                continue
            opened.clear()  # no tag reaches across the end of another
        kept.append(piece)
    return "".join(kept)
