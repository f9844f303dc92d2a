"""Lint rules over one tool, as a table: what a model reads should be readable, and mean no harm."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hermes_build.compiler.codes import CODES
from hermes_build.compiler.diagnostics import Findings, Label
from hermes_build.compiler.load import Document
from hermes_build.ir import Tool
from hermes_build.keywords import subschemas

Pointer = tuple[str | int, ...]

SHORTEST_DESCRIPTION = 12
"""Characters below which a tool's description hardly tells it from its neighbours."""

UNFILLED = "What {name} does, on what, and when to use it."
"""The description of a tool that was made by ``hermes-build new`` and not filled in yet."""


@dataclass(frozen=True, slots=True)
class Texts:
    """What reaches a model of one tool, toolset or file, for rules about its every text.

    ``parts`` are its values with pointers into its document, names and data among them: a model
    reads a key, an enum member or a word inside a default as it reads a description.
    """

    who: str
    parts: tuple[tuple[Pointer, Any], ...]

    @staticmethod
    def of(who: str, doc: Document, *keys: str) -> Texts:
        """Gather the values that a document has under some of its keys."""
        return Texts(who, tuple(((key,), doc.value[key]) for key in keys if key in doc.value))

    def prose(self) -> str:
        """All texts in one, control characters as escapes but for breaks between words.

        A rule looks there first, and most often finds nothing.
        """
        text = json.dumps([value for _, value in self.parts], ensure_ascii=False)
        return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")

    def each(self) -> Iterator[tuple[Pointer, bool, str]]:
        """Yield each text with its pointer, and whether it is a key."""
        waiting = list(reversed(self.parts))
        while waiting:
            at, value = waiting.pop()
            if isinstance(value, str):
                yield at, False, value
            elif isinstance(value, list):
                waiting += [((*at, nth), one) for nth, one in reversed(list(enumerate(value)))]
            elif isinstance(value, dict):
                for key in value:
                    yield (*at, key), True, key
                waiting += [((*at, key), one) for key, one in reversed(value.items())]


@dataclass(frozen=True, slots=True)
class Subject:
    """One tool under the rules: ``schemas`` carry pointers into its document."""

    tool: Tool
    doc: Document
    texts: Texts
    prose: str
    schemas: tuple[tuple[Pointer, dict[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a rule is broken, and in which words to say so."""

    at: Pointer
    message: str
    label: str = ""
    help: tuple[str, ...] = ()
    key: bool = False
    also: tuple[Pointer, str] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A row: ``foreign`` rules also hold for tools that come from elsewhere, as warnings."""

    code: str
    check: Callable[[Subject], Iterator[Hit]]
    foreign: bool = False


_READ_BY_MODELS = ("description", "title", "emoji", "parameters", "output_schema")


def lint(tool: Tool, doc: Document, findings: Findings) -> None:
    """Run every rule over one tool."""
    ours = tool.handler == "self"
    schemas: list[tuple[Pointer, dict[str, Any]]] = []
    for root in ("parameters", "output_schema"):
        for at, schema in subschemas(doc.value.get(root), (root,)):
            if isinstance(schema, dict):
                schemas.append((at, schema))
    texts = Texts.of(f"`{tool.name}`", doc, *_READ_BY_MODELS)
    subject = Subject(tool, doc, texts, texts.prose(), tuple(schemas))
    for rule in RULES:
        if not ours and not rule.foreign:
            continue
        usual = CODES[rule.code].severity
        severity = usual if ours or usual == "info" else "warning"
        for hit in rule.check(subject):
            labels: tuple[Label, ...] = ()
            if hit.also is not None:
                labels = (Label(doc.at(*hit.also[0], key=True), hit.also[1]),)
            findings.add(
                rule.code,
                hit.message,
                doc.at(*hit.at, key=hit.key),
                label=hit.label,
                labels=labels,
                help=hit.help,
                severity=severity,
                tool=tool.name,
            )


def lint_texts(texts: Texts, doc: Document, findings: Findings) -> None:
    """Look through the texts of what is no tool: a toolset, or schemas that tools share."""
    prose = texts.prose()
    for code, check in (("HB1203", _hidden_in), ("HB1204", _instruction_in)):
        for hit in check(texts, prose):
            span = doc.at(*hit.at, key=hit.key)
            findings.add(code, hit.message, span, label=hit.label, help=hit.help)


def _missing(subject: Subject) -> Iterator[Hit]:
    if not isinstance(subject.doc.value.get("description", ""), str):
        return  # reading the spec reports it
    if not subject.tool.description.strip():
        at: Pointer = ("description",) if "description" in subject.doc.value else ("name",)
        yield Hit(
            at,
            f"the tool `{subject.tool.name}` has no description",
            help=("say what it does and when to use it: a model chooses by this text",),
        )


def _short(subject: Subject) -> Iterator[Hit]:
    text = subject.tool.description.strip()
    if text and len(text) < SHORTEST_DESCRIPTION:
        yield Hit(
            ("description",),
            f"the description of `{subject.tool.name}` has {len(text)} characters",
            label="hardly tells this tool from another",
            help=("say what it does, on what, and when to use it",),
        )


def _unfilled(subject: Subject) -> Iterator[Hit]:
    tool = subject.tool
    if tool.description.strip().replace('"', "") == UNFILLED.format(name=tool.name):
        yield Hit(
            ("description",),
            f"the description of `{tool.name}` is still the one that `hermes-build new` wrote",
            label="to be filled in",
            help=("say what it does, on what, and when to use it, and fill in its handler",),
        )


_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_EMOJI_BASE = re.compile(
    "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff\ufe0f\U0001f3fb-\U0001f3ff]"
)
_TAG_SEQUENCE = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,8}\U000e007f")


def hidden_characters(text: str) -> list[tuple[int, str]]:
    """Find invisible and bidirectional characters, as (offset, name).

    Emoji keep theirs: a joiner between emoji, and the tag sequences of flags. So does a joiner
    between letters of scripts that need it.
    """
    flags = [match.span() for match in _TAG_SEQUENCE.finditer(text)]
    found = []
    for match in _HIDDEN.finditer(text):
        at, char = match.start(), match.group()
        if any(start <= at < end for start, end in flags):
            continue
        if char in "\u200c\u200d" and _joins(text, at):
            continue
        name = unicodedata.name(char, "") or f"control character {ord(char):#04x}"
        found.append((at, f"U+{ord(char):04X} {name}"))
    return found


def _joins(text: str, at: int) -> bool:
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before or not after:
        return False
    if _EMOJI_BASE.match(before) and _EMOJI_BASE.match(after):
        return text[at] == "\u200d"
    scripts = (
        "ARABIC",
        "DEVANAGARI",
        "BENGALI",
        "TAMIL",
        "KANNADA",
        "MALAYALAM",
        "SINHALA",
        "TELUGU",
    )
    return all(unicodedata.name(one, "").startswith(scripts) for one in (before, after))


def _hidden(subject: Subject) -> Iterator[Hit]:
    return _hidden_in(subject.texts, subject.prose)


def _hidden_in(texts: Texts, prose: str) -> Iterator[Hit]:
    escaped = any(mark in prose for mark in ("\\u00", "\\b", "\\f"))
    if not escaped and ((prose.isascii() and "\x7f" not in prose) or not _HIDDEN.search(prose)):
        return
    for at, key, text in texts.each():
        found = hidden_characters(text)
        if found:
            names = ", ".join(dict.fromkeys(name for _, name in found[:4]))
            others = f" and {len(found) - 4} more" if len(found) > 4 else ""
            yield Hit(
                at,
                f"a text of {texts.who} holds hidden characters: {names}{others}",
                label=f"first one at character {found[0][0] + 1} of the text",
                help=("remove them: a reviewer cannot see what a model reads",),
                key=key,
            )


# What marks a text as an instruction, in lower case. A pattern is costly beside a look for words:
# it is tried only where one word of each of its groups is.
_INSTRUCTIONS: tuple[tuple[tuple[tuple[str, ...], ...], re.Pattern[str]], ...] = (
    (
        (("ignore", "disregard", "forget", "override"),),
        re.compile(
            r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}"
            r"\b(?:previous|prior|above|earlier|other|all|system)\b[^.\n]{0,30}"
            r"\b(?:instructions?|prompts?|messages?|rules|tools?|guidelines)\b"
        ),
    ),
    (
        (("not", "don't", "never"), ("tell", "inform", "mention", "reveal", "show", "notify")),
        re.compile(
            r"\b(?:do\s+not|don't|never)\s+(?:tell|inform|mention|reveal|show|notify)\b"
            r"[^.\n]{0,30}\b(?:users?|anyone|human)\b"
        ),
    ),
    (
        (("<", "["),),
        re.compile(
            r"<\s*(?:/\s*)?(?:system|assistant|important|instructions?|user)\s*>"
            r"|\[\s*(?:/\s*)?(?:inst|system)\s*\]|<\|[a-z_]+\|>"
        ),
    ),
    (
        (("you",),),
        re.compile(
            r"\byou\s+are\s+now\b|\byour\s+(?:new\s+)?(?:system\s+prompt|instructions\s+are)\b"
        ),
    ),
    (
        (("other",), ("always", "must", "first"), ("before", "instead", "prior")),
        re.compile(
            r"\b(?:always|must|first)\b[^.\n]{0,40}\b(?:before|instead\s+of|prior\s+to)\b"
            r"[^.\n]{0,30}\b(?:any|every|all)\s+other\b[^.\n]{0,20}\btools?\b"
        ),
    ),
)


def instruction(text: str) -> str | None:
    """Return the part of a text that reads like an instruction to the model, if there is one."""
    folded = text.lower()
    if len(folded) != len(text):  # a letter that lower case makes longer would shift the place
        folded = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    for groups, pattern in _INSTRUCTIONS:
        if all(any(word in folded for word in words) for words in groups):
            found = pattern.search(folded)
            if found:
                return " ".join(text[found.start() : found.end()].split())
    return None


def _instruction(subject: Subject) -> Iterator[Hit]:
    return _instruction_in(subject.texts, subject.prose)


def _instruction_in(texts: Texts, prose: str) -> Iterator[Hit]:
    if instruction(prose) is None:
        return
    for at, key, text in texts.each():
        quoted = instruction(text)
        if quoted is not None:
            yield Hit(
                at,
                f"a text of {texts.who} reads like an instruction to the model",
                label=f"“{quoted[:60]}”",
                help=("describe the tool; what a model must do belongs in the agent's prompt",),
                key=key,
            )


def _undescribed(subject: Subject) -> Iterator[Hit]:
    properties = subject.tool.parameters.get("properties")
    if not isinstance(properties, dict):
        return
    for name, schema in properties.items():
        if isinstance(schema, dict) and "$ref" not in schema and not schema.get("description"):
            yield Hit(
                ("parameters", "properties", name),
                f"the parameter `{name}` has no description",
                key=True,
                help=("say what it is, with its unit and an example where that helps",),
            )


def _open_root(subject: Subject) -> Iterator[Hit]:
    root = subject.tool.parameters
    if not {"additionalProperties", "unevaluatedProperties", "$ref"} & root.keys():
        yield Hit(
            ("parameters",),
            f"the parameters of `{subject.tool.name}` do not say whether others may come",
            key=True,
            label="open: a misspelt argument passes",
            help=("add `additionalProperties: false` (or `true`, if they may)",),
        )


def _single_enum(subject: Subject) -> Iterator[Hit]:
    for at, schema in subject.schemas:
        members = schema.get("enum")
        if isinstance(members, list) and len(members) == 1:
            yield Hit(
                (*at, "enum"),
                "an enum has one member",
                label="the model has no choice here",
                help=("use `const`, or leave the parameter out",),
            )


def _confusable(subject: Subject) -> Iterator[Hit]:
    for at, schema in subject.schemas:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or len(properties) < 2:
            continue
        if "".join(properties).isascii() and len({one.lower() for one in properties}) == len(
            properties
        ):
            continue
        seen: dict[str, str] = {}
        for name in properties:
            folded = unicodedata.normalize("NFKC", name).casefold()
            other = seen.setdefault(folded, name)
            if other != name:
                yield Hit(
                    (*at, "properties", name),
                    f"the parameters `{other}` and `{name}` differ only in case or Unicode form",
                    key=True,
                    also=((*at, "properties", other), "the other is here"),
                    help=("give one of them another name",),
                )


RULES = (
    Rule("HB1201", _missing),
    Rule("HB1202", _short),
    Rule("HB1203", _hidden, foreign=True),
    Rule("HB1204", _instruction, foreign=True),
    Rule("HB1205", _undescribed),
    Rule("HB1206", _open_root),
    Rule("HB1207", _single_enum),
    Rule("HB1210", _confusable, foreign=True),
    Rule("HB1212", _unfilled, foreign=True),
)
