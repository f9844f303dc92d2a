"""Templates to text: the built-in ones, each replaceable by a file of the project's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

TEMPLATES = ("package.py.jinja", "registry.py.jinja", "tool.py.jinja")

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class TemplateFailed(Exception):
    """A template cannot be rendered; ``name`` and ``line`` say where."""

    def __init__(self, name: str, line: int, message: str) -> None:
        super().__init__(message)
        self.name, self.line, self.message = name, line, message


def builtin_templates() -> dict[str, str]:
    """Return the text of every built-in template by its file name."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "templates"  # where a wheel carries them
    folder = inside if inside.is_dir() else package.parent / "templates"
    return {name: (folder / name).read_text("utf-8") for name in TEMPLATES}


@dataclass(frozen=True)
class Renderer:
    """Renders templates that it was given as text; it reads no file."""

    templates: Mapping[str, str]

    @cached_property
    def _environment(self) -> jinja2.Environment:
        environment = ImmutableSandboxedEnvironment(
            loader=jinja2.DictLoader(dict(self.templates)),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )
        environment.filters["literal"] = literal
        environment.filters["docstring"] = docstring
        environment.filters["identifier"] = identifier
        return environment

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Render one template.

        Raises:
            TemplateFailed: the template is not well-formed, or asks for a value that there is not.
        """
        try:
            return self._environment.get_template(name).render(values)
        except jinja2.TemplateSyntaxError as error:
            raise TemplateFailed(error.name or name, error.lineno, str(error.message)) from error
        except Exception as error:  # a template is the project's own code, and may raise anything
            line = _line_in_template(error)
            raise TemplateFailed(name, line, f"{type(error).__name__}: {error}") from error


def _line_in_template(error: BaseException) -> int:
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def literal(value: Any) -> str:
    """Return Python source for a plain value: the only way of a spec's text into generated code."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool | int):
        return repr(value)
    raise TypeError(f"no literal for {type(value).__name__}")


def quoted(text: str) -> str:
    """Return a double-quoted ASCII literal, as the rest of generated code is quoted."""
    # With a double quote in the text, Python's own literal always stands in single ones.
    inner = ascii(f'{text}"')[1:-2].replace("\\'", "'").replace('"', '\\"')
    return f'"{inner}"'


def docstring(text: str) -> str:
    """Return a docstring: between three quotes where the text allows it, else as any literal."""
    plain = text.isascii() and text.isprintable() and not set(text) & set('\\"')
    return f'"""{text}"""' if plain else literal(text)


def identifier(name: str) -> str:
    """Return ``name`` if it is an identifier.

    Raises:
        ValueError: it is not, and would change the meaning of the code around it.
    """
    if _IDENTIFIER.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no identifier")
    return name
