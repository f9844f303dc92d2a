"""Credentials in a text, hidden before a model, a log or a person sees them.

What is hidden reads ``[masked]``. Of a token whose shape says what it is for, the beginning that
all tokens of that shape share is kept, and an eighth of the rest, at most four characters, so that
a person can tell which one it is: ``sk-ab…[masked]``. Prose about tokens and passwords stays.

The work grows with the length of a text and no faster, whatever the text: a pattern that may not
find its end searches a bounded stretch, or one in which no other search begins.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from functools import cache

from hermes_build.token_shapes import HINTS, MASK, hidden, hide_tokens, is_token

_SCHEMES = "basic|bearer|digest|token|negotiate|ntlm|oauth|api-?key|hmac|aws4-hmac-sha256"
_MASKED = re.compile(
    rf"(?:(?i:{_SCHEMES})[ \t]+)?(?:[^\s\"'`=&…]{{0,80}}…)?\[masked\](?!\w)", re.ASCII
)

_NAME = re.compile(
    r"""(?P<word>pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?|authorization
        |(?:api|access|private|secret|account|auth|encryption|signing|master)[_.\- ]?key)
    (?:[_-](?:base|value|\d{1,3}))?
    (?P<quote>\\{0,3}["'`])?
    [ \t]{0,20}(?P<sign>=>|:=|={1,2}|:|>)
    [ \t]{0,20}(?:\r?\n[ \t]{0,20}(?=\\{0,3}["']))?""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_QUOTE = re.compile(r"\\{0,3}[\"'`]")
# A value without quotes. What could end it belongs to it where it goes on, unless a pair begins.
_CORE = r"[^\s\"'`<>&;,)\]}]"
_BARE = re.compile(
    rf"(?:{_CORE}|[;,&](?![\w.-]{{1,40}}[=:])(?={_CORE})|[\"'`)\]}}](?={_CORE}))+", re.ASCII
)
_LINE_BREAKS = re.compile("[\r\n\"'{,]")
_LINE_START = re.compile(r"[ \t]*(?:-[ \t]+)?(?:export[ \t]+)?[\w.-]{0,64}", re.ASCII)
_TAG_START = re.compile(r"[\w:.-]{0,64}", re.ASCII)
_ALONE = re.compile(r"[ \t]{0,40}(?:$|[\r\n\"'`,;)\]}#]|[\w.-]{1,40}[:=])", re.ASCII)
_PAGE = re.compile(r"(?:page|next|prev(?:ious)?|continuation|sync|eos|bos|pad|stop)[_-]?$", re.I)
_REFERENCE = re.compile(
    r"\$\{?[A-Z_][A-Z0-9_]*\}?$|%[(s]|\$?\{|[\[(<]|[*.•…_-]+$|process\.env|os\.environ"
    r"|[A-Za-z_][\w.]{0,60}\(",
    re.ASCII,
)
_NO_SECRETS = frozenset(
    re.findall(
        r"\w+",
        """
        absent access any array auth authentication authorization auto basic bearer bool boolean
        bytes cannot credentials default denied digest empty error expected expired failed false
        float forbidden header hidden incorrect integer invalid list malformed mismatch missing
        must negotiate none null number object omitted optional present redacted rejected
        removed required revoked scheme string text token true undefined unauthorized
        unavailable unexpected unknown unset wrong
        """,
    )
)
_JUDGED = 64
"""How much of a value tells whether it is a secret."""

_ROUNDS = 8

_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LINES = re.compile(
    r"(?:(?:\s|\\[nr])++(?:[A-Za-z0-9+/]{16,}+={0,2}|[\w-]{1,40}:[^\r\n\\]*+))*+", re.ASCII
)
_COOKIE = re.compile(
    r"\b((?:set-)?cookie:[ \t]*)([\w.-]{1,64}=[^\s;\"']*(?:;[ \t]?[\w-]{1,64}(?:=[^\s;\"']*)?)*)",
    re.ASCII | re.IGNORECASE,
)
_PARAMETER = r"[\w-]{1,40}=(?:\"[^\"\r\n]*\"?|[^\s,\"']*)"
_AUTHORIZATION = re.compile(
    rf"(authorization[\"'`\\]{{0,5}}\s{{0,3}}[:=]>?\s{{0,3}}[\"'`\\]{{0,5}}(?:{_SCHEMES})[ \t]+)"
    rf"({_PARAMETER}(?:,[ \t]*{_PARAMETER})*|[^\s\"'`\\,;<>]+)",
    re.ASCII | re.IGNORECASE,
)
_FLAG = re.compile(
    r"(?<![\w-])(--?[\w-]{0,40}?(?:password|passwd|passphrase|secret|token|api-?key)"
    r"(?:[\"'],\s{0,3}[\"']|[ \t]+))([^\s\"'<>-][^\"'<>\r\n]*)",
    re.ASCII | re.IGNORECASE,
)
_QUERY = re.compile(
    r"([?&](?:sig|signature|x-amz-signature|x-goog-signature|key|auth|code|jwt)=)"
    r"([^&\s\"'<>#]{12,})",
    re.ASCII | re.IGNORECASE,
)
_USERINFO = re.compile(
    r"""://(?:
      ([^\s/?\#"'<>`\\]+)(?=@[^\s@])
      # A slash that should have been escaped; not the port of a host without user info.
      |([^\s/?\#:@"'<>\[]{1,64}:(?!\d{1,5}(?![^/?\#\s]))[^\s"'<>@]{1,200})(?=@[^\s@])
    )""",
    re.VERBOSE,
)
_BEARER = re.compile(
    r"\b(bearer[ \t]+)([A-Za-z0-9._~+/-]{6,}+=*+)(?!…\[masked\])", re.ASCII | re.IGNORECASE
)
_BASIC = re.compile(
    r"(\bbasic[ \t]+|\"auth\":\s?\")([A-Za-z0-9+/]{6,}={0,2})", re.ASCII | re.IGNORECASE
)


def mask(text: str) -> str:
    """The text with every credential in it hidden; the same object where it has none.

    Hidden are tokens of known shapes, private keys, the user info of URLs, the credentials of
    ``Authorization`` and ``Cookie`` headers, and what is given to a name that says that it is a
    secret (``password=…``, ``"api_key": "…"``, ``client_secret: …``, ``--token …``). Masking a
    masked text changes nothing.
    """
    masked = _once(text)
    if masked == text:
        return text
    # A value that was hidden may let a name before it be seen for what it is.
    for _ in range(_ROUNDS):
        before, masked = masked, _once(masked)
        if masked == before:
            break
    return masked


def _once(text: str) -> str:
    lowered = text.lower()
    for hints, step in _STEPS:
        # Looking for each hint is some ten times as fast as one pattern for all of them.
        if any(map(lowered.__contains__, hints)):
            text = step(text)
    return text


def _private_keys(text: str) -> str:
    """Hide PEM blocks, those that were cut off before their end included."""
    done, pieces, may_end = 0, [], True
    for begin in _PEM_BEGIN.finditer(text):
        if begin.start() < done:
            continue
        end = _PEM_END.search(text, begin.end()) if may_end else None
        may_end = end is not None
        block = end or _PEM_LINES.match(text, begin.end())
        if block and block.end() > begin.end():
            pieces += [text[done : begin.start()], f"-----BEGIN…{MASK}"]
            done = block.end()
    return "".join([*pieces, text[done:]])


def _named(text: str) -> str:
    """Hide what is given to names of secrets, in the spellings of env, URLs, JSON, YAML and XML."""
    done, position = 0, 0
    pieces: list[str] = []
    closings: dict[str, int] = {}
    while name := _NAME.search(text, position):
        position = name.end()
        if span := _secret(text, name, closings):
            start, position = span
            pieces += [text[done:start], hidden(text[start:position])]
            done = position
    return "".join([*pieces, text[done:]])


def _secret(text: str, name: re.Match[str], closings: dict[str, int]) -> tuple[int, int] | None:
    """Where the secret stands that is given to a name; None where it is none.

    ``closings`` holds, for each kind of quote, the next one that closes, so that it is sought once.
    """
    word, sign = name["word"].lower(), name["sign"]
    before = text[max(0, name.start() - 80) : name.start()]
    if word == "token" and _PAGE.search(before[-16:]):
        return None
    if sign == ">" and not ("<" in before and _TAG_START.fullmatch(before.rpartition("<")[2])):
        return None
    opening = _QUOTE.match(text, name.end())
    start = opening.end() if opening else name.end()
    if _MASKED.match(text, start):
        return None
    certain = bool(name["quote"]) or sign != ":"
    starts_line = bool(_LINE_START.fullmatch(_LINE_BREAKS.split(before)[-1]))
    if opening:
        quote = opening[0]
        end = closings.get(quote, -1)
        if end < start:
            closing = _closing(quote).search(text, start)
            end = closings[quote] = closing.start() if closing else len(text)
        certain = certain or starts_line
    else:
        end = _bare_end(text, start, start + _JUDGED)
        if not certain and _ALONE.match(text, end):
            certain = starts_line or (word != "token" and end - start >= 6)
    value = text[start : min(end, start + _JUDGED)]
    if _says_nothing(word, value) or not (certain or _is_odd(word, value)):
        return None
    if not opening:
        end = _bare_end(text, start, len(text))
    elif end == len(text) and (line_end := text.find("\n", start)) >= 0:
        end = line_end  # a quote that nothing closes
    return start, end


def _bare_end(text: str, start: int, limit: int) -> int:
    """Where a value without quotes ends; the signs that end a sentence are not part of it."""
    value = _BARE.match(text, start, limit)
    end = value.end() if value else start
    while end > start and text[end - 1] in ".:":
        end -= 1
    return end


@cache
def _closing(quote: str) -> re.Pattern[str]:
    """The pattern of the sign that ends what a quote of the same form began."""
    return re.compile(rf"(?<!\\){re.escape(quote)}(?!\w)", re.ASCII)


def _says_nothing(word: str, value: str) -> bool:
    """Whether a value only stands for a secret that is elsewhere, or speaks of one."""
    if not value or _REFERENCE.match(value):
        return True
    if word == "pwd" and (value[0] in "/~." or value[1:3] in (":\\", ":/")):
        return True  # the working folder
    if word == "token" and value.isdecimal():
        return True  # a number of tokens
    words = value.lower().replace(".", " ").split()
    return any(one in _NO_SECRETS for one in words) and (len(words) > 2 or len(words) == 1)


def _is_odd(word: str, value: str) -> bool:
    """Whether a value in the middle of prose is unlike a word of that prose."""
    if len(value) < 6 or not any(one.isdigit() for one in value):
        return False
    return not value.isupper() and (word != "token" or any(one.isalpha() for one in value))


def _after_name(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    if _MASKED.match(value) or value.lower() in _NO_SECRETS:
        return match[0]
    return name + hidden(value)


def _flag(match: re.Match[str]) -> str:
    """An option of a command line, and what follows it: in a list of words, or behind a space."""
    name, value = match[1], match[2]
    if name[-1] in " \t":
        value = value.split(None, 1)[0]
        if _says_nothing("token", value) or not _is_odd("token", value):
            return match[0]
    elif _MASKED.match(value):
        return match[0]
    return name + hidden(value) + match[2][len(value) :]


def _userinfo(match: re.Match[str]) -> str:
    info = match[1] or match[2]
    user, colon, password = info.partition(":")
    if info.removesuffix(":").endswith(MASK) or _REFERENCE.match(password):
        return match[0]
    is_secret = is_token(user) or len(user) > 32
    if password:
        return f"://{hidden(user) if is_secret else user}:{MASK}"
    if is_secret or len(user) >= 20 or (len(user) >= 8 and any(one.isdigit() for one in user)):
        return f"://{hidden(user)}{colon}"
    return match[0]


def _bearer(match: re.Match[str]) -> str:
    value = match[2].rstrip(".")
    if len(value) < 20 and not any(one.isdigit() for one in value):
        return match[0]
    return match[1] + hidden(value) + match[2][len(value) :]


def _basic(match: re.Match[str]) -> str:
    """A user name and a password in Base64; any other word after "basic" is left alone."""
    value = match[2].rstrip("=")
    try:
        decoded = a2b_base64(value + "=" * (-len(value) % 4))
    except Error:
        return match[0]
    printable = decoded.isascii() and decoded.decode().isprintable()
    return match[1] + MASK if printable and b":" in decoded else match[0]


_NAME_HINTS = ("pass", "pwd", "secret", "token", "credential", "authorization", "key")
# In the order of the work: each step with what, in lower case, a text that concerns it holds.
_STEPS = (
    (("private key",), _private_keys),
    (("cookie:",), lambda text: _COOKIE.sub(rf"\g<1>{MASK}", text)),
    (("authorization",), lambda text: _AUTHORIZATION.sub(_after_name, text)),
    (_NAME_HINTS, _named),
    (_NAME_HINTS, lambda text: _FLAG.sub(_flag, text)),
    (("sig", "key=", "auth=", "code=", "jwt="), lambda text: _QUERY.sub(_after_name, text)),
    (("://",), lambda text: _USERINFO.sub(_userinfo, text)),
    (HINTS, hide_tokens),
    (("bearer",), lambda text: _BEARER.sub(_bearer, text)),
    (("basic", '"auth"'), lambda text: _BASIC.sub(_basic, text)),
)
