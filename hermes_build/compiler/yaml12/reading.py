"""A YAML text to the values of its documents, and a finding for all that the dialect refuses."""

from __future__ import annotations

import re
from typing import Any

from hermes_build.compiler.diagnostics import Findings, Label, Span
from hermes_build.compiler.yaml12 import dialect
from hermes_build.compiler.yaml12.dialect import (
    GLUED,
    MAX_DEPTH,
    MappingNode,
    Node,
    NotJson,
    ScalarNode,
)
from hermes_build.compiler.yaml12.places import Lines
from hermes_build.compiler.yaml12.syntax import add_character, add_empty, add_tag, explain

MAX_EXPANDED = 100_000
"""How many nodes the aliases of one document may stand for."""

MAX_FINDINGS = 100
"""After so many errors the rest of a file is passed over; so many warnings are shown."""

_REFUSED = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAG = re.compile(r"(?:&\S*\s+)?(!)")
_ANCHOR = re.compile(r"(?:!\S*\s+)?&([^\s,\[\]{}]+)")
_BLANK = re.compile(r"[ \t]+")
_KINDS = {type(None): "null", bool: "a boolean", int: "a number", float: "a number"}


def read(
    path: str, text: str, findings: Findings, *, libyaml: bool = dialect.HAS_LIBYAML
) -> list[tuple[int, int, Any]]:
    """Return (number in the stream, first line, value) of each document that is free of errors.

    ``libyaml=False`` reads with the pure Python parser, as where libyaml is missing.
    """
    if libyaml:
        quick = dialect.quick(text)
        if quick is not None:
            return [(index, line, value) for index, (line, value) in enumerate(quick)]
    lines = Lines(path, text)
    if (refused := _REFUSED.search(text)) is not None:
        add_character(refused, lines, findings)
        return []
    documents: list[tuple[int, int, Any]] = []
    found = Findings()
    reader = Reader(lines, found)
    index = -1
    try:
        for index, root in enumerate(dialect.nodes(text, libyaml=libyaml)):
            start = root.start_mark.index
            if not root.value and start == root.end_mark.index:
                if len(found) < MAX_FINDINGS:
                    add_empty(lines.character(start), found)
                continue
            value = reader.document(root, start - root.start_mark.column)
            if not reader.failed:
                documents.append((index, root.start_mark.line + 1, value))
            elif len(found) >= MAX_FINDINGS:
                break
    except dialect.Broken as broken:
        explain(broken, lines, found)
    else:
        if index < 0:
            add_empty(Span(path), found)
    findings.extend(found)
    return documents


class _GiveUp(Exception):
    """The document is beyond reading; its finding has been made."""


class Reader:
    """Builds the values of one document after the other."""

    def __init__(self, lines: Lines, findings: Findings) -> None:
        self.failed = False
        self._findings = findings
        self._lines = lines
        self._text = lines.text
        self._tags = "!" in lines.text
        self._cuts = " #" in lines.text or "\t#" in lines.text
        self._aliases = "&" in lines.text and "*" in lines.text
        # Of each node that was built: its value, how many nodes it stands for, how deep.
        self._built: dict[int, tuple[Any, int, int]] = {}
        self._open: set[int] = set()
        self._expanded = 0
        # Where the document begins, and up to where it has been read.
        self._begin = self._here = 0

    def document(self, root: Node, begin: int) -> Any:
        """Return the value of a document whose first line begins at an offset of the text.

        ``failed`` says whether it has errors; its value is then of no use.
        """
        self.failed = False
        self._built.clear()
        self._open.clear()
        self._expanded = 0
        self._begin = self._here = begin
        try:
            return self._value(root, 1)[0]
        except _GiveUp:
            self.failed = True
            return None

    def _add(self, code: str, message: str, span: Span, *help: str, **more: Any) -> None:
        self._findings.add(code, message, span, help=help, **more)
        self._fail()

    def _fail(self) -> None:
        self.failed = True
        if len(self._findings) >= MAX_FINDINGS:
            raise _GiveUp

    def _value(self, node: Node, depth: int) -> tuple[Any, int, int]:
        """Return a node's value, how many nodes it stands for, and how deep they are nested."""
        if self._aliases and (id(node) in self._built or id(node) in self._open):
            return self._alias(node, depth)
        if self._tags:
            self._check_tag(node)
        value: Any
        if node.__class__ is ScalarNode:
            value, size, height = self._scalar(node), 1, 0
        else:
            if depth > MAX_DEPTH:
                explain(dialect.Broken("depth", node.start_mark.index), self._lines, self._findings)
                raise _GiveUp
            self._open.add(id(node))
            if node.__class__ is MappingNode:
                value, size, height = self._mapping(node, depth + 1)
            else:
                value, size, height = self._sequence(node, depth + 1)
            self._open.discard(id(node))
        self._here = max(self._here, node.start_mark.index + 1)
        if self._aliases:
            self._built[id(node)] = value, size, height
        return value, size, height

    def _sequence(self, node: Node, depth: int) -> tuple[list[Any], int, int]:
        value: list[Any] = []
        size, height = 1, 0
        for one in node.value:
            inner, more, deep = self._value(one, depth)
            value.append(inner)
            size += more
            height = max(height, deep)
        return value, size, height + 1

    def _mapping(self, node: Node, depth: int) -> tuple[dict[str, Any], int, int]:
        value: dict[str, Any] = {}
        names: dict[str, Node] = {}
        size, height = 1, 0
        for key, one in node.value:
            name = self._key(key)
            inner, more, deep = self._value(one, depth)
            size += more + 1
            height = max(height, deep)
            if name is None:
                continue
            if name in names:
                self._add(
                    "HB0003",
                    f"the key `{_short(name)}` stands twice in one mapping",
                    self._lines.node(key),
                    "keep one of the two",
                    label="again here",
                    labels=(Label(self._lines.node(names[name]), "first defined here"),),
                )
            else:
                names[name] = key
                value[name] = inner
        return value, size, height + 1

    def _key(self, key: Node) -> str | None:
        """Return a key's text, or ``None`` after a finding."""
        if self._tags:
            self._check_tag(key)
        span = self._lines.node
        if key.__class__ is not ScalarNode:
            self._add(
                "HB0008",
                "a list or a mapping cannot be a key",
                span(key),
                "keys are text; a template such as `{{name}}` needs quotes",
            )
            return None
        name: str = key.value
        if key.style:
            self._check_surrogate(key)
            return name
        if name == "<<":
            self._add(
                "HB0005",
                "merge keys are not part of this dialect",
                span(key),
                "write the keys out, or share a schema by `$ref`",
            )
            return None
        try:
            value = dialect.plain(name)
        except NotJson:
            value = 0
        if not isinstance(value, str):
            what = f"the key `{_short(name)}` is {_KINDS[type(value)]}, not text"
            advice = f'quote it: "{_short(name)}"' if name else "write a key before the colon"
            self._add("HB0008", what if name else "a key is empty", span(key), advice)
            return None
        return value

    def _scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        if node.style:
            self._check_surrogate(node)
            return text
        if self._cuts:
            self._check_cut(node)
        try:
            return dialect.plain(text)
        except NotJson as why:
            self._add(
                "HB0009",
                f"`{_short(text)}` has no equal in JSON",
                self._lines.node(node),
                f'quote it if it is text: "{_short(text)}"',
                label=str(why),
            )
            return None

    def _check_surrogate(self, node: Node) -> None:
        if _SURROGATE.search(node.value):
            self._add(
                "HB0009",
                "an escape is half a character (a surrogate)",
                self._lines.node(node),
                "write the character itself, or \\U and its eight hex digits",
            )

    def _check_tag(self, node: Node) -> None:
        # A plain scalar, a quoted one and a collection each hide a lone `!` in a way of their own,
        # but all of them begin at their tag.
        start = node.start_mark.index
        match = _TAG.match(self._text, start)
        if match is not None and not self._begins_with_key(node, start):
            end = re.compile(r"[^\s,\[\]{}]*").match(self._text, match.start(1))
            add_tag(self._lines.span(match.start(1), end.end() if end else 0), self._findings)
            self._fail()

    @staticmethod
    def _begins_with_key(node: Node, start: int) -> bool:
        """Whether a mapping begins where its first key does, so that the tag is the key's."""
        inner = node.value
        return bool(
            node.__class__ is MappingNode and inner and inner[0][0].start_mark.index == start
        )

    def _check_cut(self, node: Node) -> None:
        """Warn of a `#` that touches its word, behind several plain words or an empty value."""
        end = self._lines.end(node)
        blank = _BLANK.match(self._text, end)
        match = GLUED.match(self._text, blank.end() if blank else end)
        if match is None or self._text.startswith("hermes-build:", match.end()):
            return
        # Behind one word, a glued comment is mostly a comment; but `order #12` is a number of one.
        if node.value and " " not in node.value and not self._text[match.end()].isdigit():
            return
        if len(self._findings) >= MAX_FINDINGS:
            return
        rest = self._text.find("\n", end)
        self._findings.add(
            "HB0013",
            "a `#` inside unquoted text began a comment"
            if node.value
            else "a `#` left a value empty",
            self._lines.span(match.start(), rest if rest >= 0 else len(self._text)),
            label="this is not part of the text",
            help=("quote the text if this belongs to it; write a comment with a space after `#`",),
        )

    def _alias(self, node: Node, depth: int) -> tuple[Any, int, int]:
        if id(node) in self._open:
            self._add(
                "HB0007",
                "an alias refers to a value that holds it",
                self._alias_span(node),
                "JSON has no circles; a schema that refers to itself says so by `$ref`",
                labels=(Label(self._lines.node(node), "inside this value"),),
            )
            raise _GiveUp
        value, size, height = self._built[id(node)]
        self._expanded += size
        if depth + height - 1 > MAX_DEPTH:
            offset = self._alias_offset(node)
            explain(dialect.Broken("depth", offset), self._lines, self._findings)
            raise _GiveUp
        if self._expanded > MAX_EXPANDED:
            self._add(
                "HB0006",
                f"the aliases stand for more than {MAX_EXPANDED:,} values",
                self._alias_span(node),
                "write the values out, or share a schema by `$ref`",
                labels=(Label(self._lines.node(node), f"this stands for {size:,} values"),),
            )
            raise _GiveUp
        return value, size, height

    # A composed node does not say where its aliases stand; only the tokens do. They are scanned
    # where there is a finding to place.
    def _alias_offset(self, node: Node) -> int:
        return self._alias_range(node)[0]

    def _alias_span(self, node: Node) -> Span:
        return self._lines.span(*self._alias_range(node))

    def _alias_range(self, node: Node) -> tuple[int, int]:
        anchor = _ANCHOR.match(self._text, node.start_mark.index)
        for token in dialect.tokens(self._text[self._begin :]):
            start = token.start + self._begin
            if anchor is not None and start >= self._here and token.alias == anchor[1]:
                return start, token.end + self._begin
        return node.start_mark.index, self._lines.end(node)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
