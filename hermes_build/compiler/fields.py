"""Typed access to the fields of a YAML document's mappings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.load import Document
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.ir import JsonObject, is_name

Pointer = tuple[str | int, ...]


class Fields:
    """Typed access to one mapping of a document; each mistake becomes a finding where it stands."""

    __slots__ = ("at", "doc", "findings", "value")

    def __init__(self, doc: Document, at: Pointer, value: JsonObject, findings: Findings) -> None:
        self.doc, self.at, self.value, self.findings = doc, at, value, findings

    def known(self, keys: tuple[str, ...], what: str) -> None:
        """Report every key that is not one of ``keys``."""
        for key in self.value:
            if key not in keys:
                self.findings.add(
                    "HB1001",
                    f"unknown key `{key}` in {what}",
                    self.doc.at(*self.at, key, key=True),
                    label="not known here",
                    help=did_you_mean(key, keys, self.findings)
                    or (f"known keys: {', '.join(keys)}",),
                )

    def need(self, keys: tuple[str, ...], what: str) -> bool:
        """Report those of ``keys`` that are missing; whether there are none."""
        missing = [key for key in keys if key not in self.value]
        for key in missing:
            self.findings.add(
                "HB1003",
                f"{what} lacks `{key}`",
                self.span(),
                help=(f"add `{key}:`",),
            )
        return not missing

    def span(self, *pointer: str | int, key: bool = False) -> Span:
        """Return the span of a node below the mapping, or of a key."""
        return self.doc.at(*self.at, *pointer, key=key)

    def wrong(self, key: str | int, what: str, *more: str | int, code: str = "HB1002") -> None:
        """Report that the value at ``key`` is not ``what`` it must be."""
        path = ".".join(str(part) for part in (*self.at, key, *more))
        self.findings.add(
            code, f"`{path}` must be {what}", self.span(key, *more), label=f"expected {what}"
        )

    def text(
        self, key: str, pattern: re.Pattern[str] | None = None, what: str = "text"
    ) -> str | None:
        """Return a text field, or None where it is missing or wrong."""
        value = self.value.get(key)
        if value is None and key not in self.value:
            return None
        if not isinstance(value, str):
            self.wrong(key, what)
            return None
        if pattern is not None and pattern.fullmatch(value) is None:
            self.wrong(key, what, code="HB1008")
            return None
        return value

    def name(self, key: str, what: str) -> str | None:
        """Return the field when it is a name that providers accept."""
        value = self.value.get(key)
        if not isinstance(value, str):
            if key in self.value:
                self.wrong(key, "text")
            return None
        return value if self.name_fits(value, what, key) else None

    def names(self, key: str, what: str) -> tuple[str, ...]:
        """Return a list of names, without those that providers refuse."""
        found = self.texts(key)
        return tuple(one for nth, one in enumerate(found) if self.name_fits(one, what, key, nth))

    def name_fits(self, value: str, what: str, *pointer: str | int, key: bool = False) -> bool:
        """Whether a name is one that providers accept; one that is not becomes a finding."""
        if is_name(value):
            return True
        self.findings.add(
            "HB1004",
            f"`{value}` cannot be {what}" if value else f"an empty text cannot be {what}",
            self.span(*pointer, key=key),
            label="letters, digits, `_` and `-`, not starting with a digit or `-`, 64 at most",
            help=("model providers refuse other names",),
        )
        return False

    def texts(
        self, key: str, pattern: re.Pattern[str] | None = None, what: str = "text"
    ) -> tuple[str, ...]:
        """Return a list of different texts; what is no text, or stands twice, is a finding."""
        value = self.value.get(key)
        if value is None and key not in self.value:
            return ()
        if not isinstance(value, list):
            self.wrong(key, "a list of text")
            return ()
        good: dict[str, None] = {}
        for nth, one in enumerate(value):
            if not isinstance(one, str):
                self.wrong(key, "text", nth)
            elif pattern is not None and pattern.fullmatch(one) is None:
                self.wrong(key, what, nth, code="HB1008")
            elif one in good:
                self.findings.add(
                    "HB2012",
                    f"`{key}` names `{one}` twice",
                    self.span(key, nth),
                    label="again here",
                )
            else:
                good[one] = None
        return tuple(good)

    def arguments(self, key: str) -> tuple[str, ...]:
        """A command line's arguments: unlike a list of names, it may say one thing twice."""
        value = self.value.get(key, [])
        if not isinstance(value, list):
            self.wrong(key, "a list of text")
            return ()
        for nth, one in enumerate(value):
            if not isinstance(one, str):
                self.wrong(key, "text", nth)
        return tuple(one for one in value if isinstance(one, str))

    def flag(self, key: str) -> bool | None:
        """Return a field that is true or false."""
        value = self.value.get(key)
        if value is None and key not in self.value:
            return None
        if not isinstance(value, bool):
            self.wrong(key, "true or false")
            return None
        return value

    def number(self, key: str, *, whole: bool) -> float | int | None:
        """Return a number above 0, of whole numbers alone when ``whole``."""
        value = self.value.get(key)
        if value is None and key not in self.value:
            return None
        what = "a whole number above 0" if whole else "a number above 0"
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            self.wrong(key, what)
            return None
        if value <= 0:
            self.wrong(key, what, code="HB1008")
            return None
        return cast("float | int", value)

    def whole(self, key: str) -> int | None:
        """Return a whole number above 0."""
        return cast("int | None", self.number(key, whole=True))

    def one_of(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of ``choices``, or ``default``."""
        value = self.value.get(key, default)
        if value not in choices:
            self.findings.add(
                "HB1008",
                f"`{key}` cannot be `{value}`",
                self.span(key),
                label=f"expected {', '.join(choices)}",
                help=did_you_mean(str(value), choices, self.findings),
            )
            return default
        return cast("str", value)

    def table(self, key: str, keys: tuple[str, ...]) -> Fields | None:
        """Return access to a mapping inside this one, whose keys are ``keys``."""
        if key not in self.value:
            return None
        value = self.value[key]
        if not isinstance(value, dict):
            self.wrong(key, "a mapping")
            return None
        inner = Fields(self.doc, (*self.at, key), value, self.findings)
        if keys:
            inner.known(keys, f"`{key}`")
        return inner

    def text_map(self, key: str) -> Mapping[str, str]:
        """Return a mapping of text to text."""
        value = self.value.get(key, {})
        if not isinstance(value, dict):
            self.wrong(key, "a mapping of text to text")
            return {}
        for name, one in value.items():
            if not isinstance(one, str):
                self.wrong(key, "text", name)
        return {name: one for name, one in value.items() if isinstance(one, str)}
