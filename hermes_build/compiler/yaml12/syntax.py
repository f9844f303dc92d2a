"""What to tell somebody whose YAML is malformed: parsers' reasons in sentences that help."""

from __future__ import annotations

import re

from hermes_build.compiler.diagnostics import Findings, Label, Span
from hermes_build.compiler.yaml12.dialect import (
    GLUED,
    MAX_DEPTH,
    MAX_FILE_NODES,
    MAX_NODES,
    Broken,
)
from hermes_build.compiler.yaml12.places import Lines

_QUOTE = "put the text in quotes"

# A part of the parser's reason or context; ours; what to do. The first row that fits is taken.
_REASONS = (
    (
        "while parsing a block collection",
        "this line does not fit the list around it",
        "give the items of one list the same indentation and a `- ` each",
    ),
    (
        "mapping values are not allowed",
        "a mapping cannot begin here",
        "text that holds `: ` needs quotes; a key needs the indentation of its mapping",
    ),
    (
        "block sequence entries are not allowed",
        "a list cannot begin here",
        "put each `- ` on a line of its own, below the key; or quote the text",
    ),
    (
        "sequence entries are not allowed",
        "a list cannot begin here",
        "put each `- ` on a line of its own, below the key; or quote the text",
    ),
    ("mapping keys are not allowed", "a `?` cannot begin a key here", _QUOTE),
    (
        "could not find expected ':'",
        "this is neither `key: value` nor a part of the text above",
        "write `key: value`; a text of several lines goes below `|`, indented",
    ),
    (
        "unknown escape character",
        "a double-quoted text holds an escape that YAML does not know",
        "double the backslash, or use single quotes: they keep a backslash as it is",
    ),
    (
        "hexdecimal number",
        "an escape in a double-quoted text lacks digits",
        "write \\xNN, \\uNNNN or \\UNNNNNNNN; or use single quotes",
    ),
    (
        "escape sequence of",
        "an escape in a double-quoted text lacks digits",
        "write \\xNN, \\uNNNN or \\UNNNNNNNN; or use single quotes",
    ),
    (
        "document indicator",
        "a line of `---` or `...` ends the document inside a quoted text",
        "close the quote, or indent the line",
    ),
    ("quoted scalar", "a quote is never closed", "close the quote"),
    (
        "undefined alias",
        "an alias names an anchor that is not above it",
        "text that begins with `*` needs quotes",
    ),
    (
        "second occurrence",
        "an anchor is defined twice in one document",
        "give the second one another name; text that begins with `&` needs quotes",
    ),
    (
        "while scanning an alias",
        "a `*` begins an alias here, and no name follows",
        "text that begins with `*` needs quotes",
    ),
    (
        "while scanning an anchor",
        "an `&` begins an anchor here, and no name follows",
        "text that begins with `&` needs quotes",
    ),
    (
        "while scanning a block scalar",
        "what follows `|` or `>` is not understood",
        "begin the text on the next line; the sign may carry `-`, `+` or the indentation",
    ),
    ("flow sequence", "a `[` is never closed, or a comma is missing", "close it with `]`"),
    ("flow mapping", "a `{` is never closed, or a comma is missing", "close it with `}`"),
    (
        "flow node",
        "a value is missing in a list or mapping on one line",
        "close each `[` with `]` and each `{` with `}`",
    ),
    (
        "while parsing a block node",
        "a value cannot begin like this",
        "text that begins with one of `]},` needs quotes",
    ),
    (
        "while parsing a block mapping",
        "this line does not fit the mapping around it",
        "give the keys of one mapping the same indentation; a text ends at its second quote",
    ),
    (
        "<document start>",
        "text follows the end of a document",
        "begin another document with a line of `---`",
    ),
    (
        "incompatible YAML document",
        "the file asks for a YAML that is neither 1.1 nor 1.2",
        "take the `%YAML` line out",
    ),
    ("directive", "a line that begins with `%` is no directive", "take the line out or indent it"),
    (
        "block",
        "this line does not fit the block around it",
        "give the keys of one mapping, and the items of one list, the same indentation",
    ),
)

_UNCLOSED = (
    "end of stream",
    "document indicator",
    "flow sequence",
    "flow mapping",
    "expected ':'",
)
_FIRST = {
    "\t": ("a tab cannot indent, nor stand before a value's first character", "use spaces"),
    "@": ("text cannot begin with `@` in YAML", _QUOTE),
    "`": ("text cannot begin with a backtick in YAML", _QUOTE),
    "%": ("text cannot begin with `%` in YAML", _QUOTE),
}


def explain(broken: Broken, lines: Lines, findings: Findings) -> None:
    """Add the finding on a text that cannot be composed any further."""
    at = lines.character(broken.index)
    if broken.kind == "depth" or "maximum nesting depth" in broken.problem:
        findings.add(
            "HB0010",
            f"more than {MAX_DEPTH} lists and mappings lie in one another",
            at,
            help=("no tool needs that: flatten the structure",),
        )
    elif broken.kind == "nodes":
        findings.add(
            "HB0011",
            f"a document has more than {MAX_NODES:,} values and keys",
            lines.character(0),
            help=("split it: a file may hold several documents, and a folder several files",),
        )
    elif broken.kind == "file":
        findings.add(
            "HB0011",
            f"the documents of a file have more than {MAX_FILE_NODES:,} values and keys",
            at,
            help=("split it: a folder may hold any number of files",),
        )
    elif "Unicode character escape" in broken.problem or "chr()" in broken.problem:
        findings.add(
            "HB0009",
            "an escape is half a character (a surrogate), or lies beyond Unicode",
            at,
            help=("write the character itself, or \\U and its eight hex digits",),
        )
    elif "undefined tag" in broken.problem or " a tag" in broken.context:
        add_tag(at, findings)
    else:
        _add_syntax(broken, at, lines, findings)


def add_tag(at: Span, findings: Findings) -> None:
    """Add the finding on a tag."""
    findings.add(
        "HB0004",
        "a value carries a YAML tag",
        at,
        label="tags are not part of this dialect",
        help=("take the tag out; text that begins with `!` needs quotes",),
    )


def add_empty(span: Span, findings: Findings) -> None:
    """Add the finding on a document without any value."""
    findings.add(
        "HB0012", "a document holds nothing", span, help=("fill it or take it out, with its `---`",)
    )


def add_character(refused: re.Match[str], lines: Lines, findings: Findings) -> None:
    """Add the finding on a character that YAML text must not hold as it is."""
    code = ord(refused[0])
    span = lines.character(refused.start())
    if 0xD800 <= code <= 0xDFFF:
        message, help = "is half a character (a surrogate)", "write the whole character"
    elif code in (0x85, 0x2028, 0x2029):
        message = "is a line break to some YAML readers and a character to others"
        help = f'write it as "\\u{code:04x}" in double quotes, or take it out'
    else:
        message = "must not stand in YAML text"
        help = f'write it as "\\u{code:04x}" in double quotes, or take it out'
    findings.add("HB0002", f"the character U+{code:04X} {message}", span, help=(help,))


def _add_syntax(broken: Broken, at: Span, lines: Lines, findings: Findings) -> None:
    message, help = "this is not YAML", "check quotes, brackets and indentation"
    label = ""
    labels: tuple[Label, ...] = ()
    reason = f"{broken.problem} {broken.context}"
    first = lines.text[broken.index : broken.index + 1]
    if "cannot start any token" in broken.problem and first in _FIRST:
        message, help = _FIRST[first]
    elif "tab character" in broken.problem:
        message, help = _FIRST["\t"]
    else:
        for part, ours, advice in _REASONS:
            if part in reason:
                message, help = ours, advice
                break
    before = broken.context_index
    if before is not None and before != broken.index:
        earlier = lines.character(before)
        if any(part in reason for part in _UNCLOSED):
            at, label = earlier, "it begins here" if "expected ':'" not in reason else ""
        elif "occurrence" in reason:
            labels = (Label(earlier, "first defined here"),)
        elif earlier.line != at.line:
            labels = (Label(earlier, "the block begins here"),)
    findings.add(
        "HB0002", message, at, label=label, labels=labels, help=(help, *_cut_above(at, lines))
    )


def _cut_above(at: Span, lines: Lines) -> tuple[str, ...]:
    """Return advice where a comment that cut a text may be what broke the lines around it."""
    rows = lines.text.split("\n")
    for number in (at.line, at.line - 1):
        if 1 <= number <= len(rows) and GLUED.search(rows[number - 1]):
            return (
                f"the `#` in line {number} begins a comment: quote the text if it belongs to it",
            )
    return ()
