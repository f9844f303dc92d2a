"""The shapes of tokens that tell by themselves what they are: API keys, signed tokens, hooks."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MASK = "[masked]"
"""What stands where a secret was."""

_WORD = "[A-Za-z0-9_-]"
_ALNUM = "[A-Za-z0-9]"
_SHAPES = (
    # What all tokens of a shape begin with, and what must follow.
    (r"sk-ant-(?:[a-z]{2,8}\d\d-)?", f"{_WORD}{{12,}}+"),
    (r"sk-(?:proj|svcacct|admin|or)-(?:v\d-)?", f"{_WORD}{{12,}}+"),
    (r"gh[oprsu]_", f"{_ALNUM}{{16,}}+"),
    (r"github_pat_", "[A-Za-z0-9_]{16,}+"),
    (r"gl(?:pat|ptt|dt|rt|cbt|oas|soat|ft|imt|agent)-", rf"{_WORD}{{16,}}+(?:\.{_WORD}++)*+"),
    (r"xox[a-z]-|xapp-", "[A-Za-z0-9-]{10,}+"),
    (r"AIza|ya29\.|GOCSPX-", f"{_WORD}{{20,}}+"),
    (r"hf_|npm_|gsk_|r8_|pplx-|xai-|ntn_|lin_api_|tvly-(?:dev-|prod-)?", f"{_ALNUM}{{16,}}+"),
    (r"do[opr]_v1_|shp(?:at|ca|pa|ss)_|dckr_pat_|figd_|sq0[a-z]{3}-|hv[bs]\.", f"{_WORD}{{16,}}+"),
    (r"[rs]k_(?:live|test)_|whsec_", f"{_ALNUM}{{10,}}+"),
    (r"A(?:KIA|SIA|ROA|IDA)", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (r"key-|dapi", "[0-9a-f]{32}(?![A-Za-z0-9])"),
    (r"SG\.", rf"{_WORD}{{16,}}+\.{_WORD}{{16,}}+"),
    (r"AGE-SECRET-KEY-1", "[A-Z0-9]{16,}+"),
    (r"hooks\.slack\.com/(?:services|workflows|triggers)/", "[A-Za-z0-9_/+-]{8,}+"),
    (r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{1,24}/", f"{_WORD}{{16,}}+"),
    (r"(?:bot)?\d{6,12}:", f"{_WORD}{{30,}}+"),
    (r"(?<![_-])eyJ", rf"{_WORD}{{6,}}+\.{_WORD}{{6,}}+(?:\.{_WORD}*+){{0,3}}"),
    # Ordinary names begin like these as well; see `_is_random`.
    (r"sk-|pypi-", f"{_WORD}{{10,}}+"),
)
_LOOSE = len(_SHAPES)
_TOKEN = re.compile(
    "(?<![A-Za-z0-9])(?:"
    + "|".join(f"({tag}){body}" for tag, body in _SHAPES)
    + r")(?!…\[masked\])",
    re.ASCII,
)

HINTS = (
    *("sk-", "pypi-", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "glptt-"),
    *("gldt-", "glrt-", "glcbt-", "gloas-", "glsoat-", "glft-", "glimt-", "glagent-", "xox"),
    *("xapp-", "aiza", "ya29.", "gocspx-", "hf_", "npm_", "gsk_", "r8_", "pplx-", "xai-", "ntn_"),
    *("lin_api_", "tvly-", "_v1_", "shp", "dckr_pat_", "figd_", "sq0", "hvs.", "hvb.", "k_live_"),
    *("k_test_", "whsec_", "akia", "asia", "aroa", "aida", "key-", "dapi", "sg.", "eyj"),
    *("hooks.slack.com", "webhooks/", ":a"),
)
"""What such tokens hold, in lower case: a text without any of these holds no token."""


_BEFORE = 48
"""So many characters before what `HINTS` has of it a token begins, at most."""

_AFTER = 512
"""So far behind that a token is looked for at first; it may be longer."""


def tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Where the tokens of known shapes stand in a text: start, end, and how each begins.

    Only what stands around one of `HINTS` is looked at: to look for a few short texts takes a
    twentieth of the time.
    """
    at = 0
    for start, end in _stretches(folded(text)):
        at = max(at, start)
        while (token := _TOKEN.search(text, at, end)) is not None:
            at = token.start() + 1
            if token.end() == end < len(text):
                token = _TOKEN.match(text, token.start())
            if token is None:
                continue
            shape = token.lastindex or 0
            tag = token[shape]
            if shape != _LOOSE or _is_random(token[0][len(tag) :]):
                yield token.start(), token.end(), tag
            at = token.end()


def folded(text: str) -> str:
    """A text of the same length in lower case, at least as far as letters of ASCII go."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_LOWER)


_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _stretches(lowered: str) -> Iterator[tuple[int, int]]:
    """What stands around the hints, in order and apart from each other."""
    begin = end = -1
    for place in places(lowered, HINTS):
        if place - _BEFORE > end:
            if end >= 0:
                yield begin, min(end, len(lowered))
            begin = max(place - _BEFORE, 0)
        end = place + _AFTER
    if end >= 0:
        yield begin, min(end, len(lowered))


def places(lowered: str, words: Iterable[str]) -> list[int]:
    """Where any of the words stands in a text that is in lower case, in order."""
    found: set[int] = set()
    for word in words:
        place = lowered.find(word)
        while place >= 0:
            found.add(place)
            place = lowered.find(word, place + 1)
    return sorted(found)


def hide_tokens(text: str) -> str:
    """The text with every token of a known shape hidden, wherever it stands."""
    return _TOKEN.sub(_token, text)


def is_token(value: str) -> bool:
    """Whether a value is one token of a known shape, and nothing besides."""
    return _TOKEN.fullmatch(value) is not None


def hidden(value: str) -> str:
    """What is shown for a value that is a secret: the kind of token that it is, if any."""
    token = _TOKEN.fullmatch(value)
    masked = token and _token(token)
    return masked if masked and masked != value else MASK


def _token(token: re.Match[str]) -> str:
    shape = token.lastindex or 0
    tag = token[shape]
    body = token[0][len(tag) :]
    if shape == _LOOSE and not _is_random(body):
        return token[0]
    # The header of all tokens of this shape is much the same: nothing of it tells one from another.
    kept = 0 if tag == "eyJ" else min(4, len(body) // 8)
    return f"{tag}{body[:kept]}…{MASK}"


def _is_random(body: str) -> bool:
    """Whether this is a token's body rather than words of a name with dashes between them."""
    if len(body) >= 40:
        return True
    parts = re.split("[_-]", body)
    return any(len(p) >= 16 or (len(p) >= 8 and not p.isalpha()) for p in parts)
