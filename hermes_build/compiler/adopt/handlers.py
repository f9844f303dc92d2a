"""Handler modules to fill in, for tools whose definitions came from elsewhere."""

from __future__ import annotations

import keyword
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HandlerFile:
    """One module's path, under the folder that holds the packages, and its text."""

    path: str
    text: str


_TYPED = '''\
"""The handler of `{name}`."""

from __future__ import annotations

from typing import Any

from {output}.tools import {module}


@{module}.implements
{define} handler(args: {module}.Args, **context: Any) -> str:
    """Run `{name}` with arguments that fit its schema; the text goes back to the model."""
    raise NotImplementedError("`{name}` has no body yet: write it in {path}")
'''

_BY_NAME = '''\
"""The handler of `{name}`."""

from __future__ import annotations

from typing import Any

from {output}.registry import registry


@registry.handler("{name}")
{define} handler(args: dict[str, Any], **context: Any) -> str:
    """Run `{name}` with arguments that fit its schema; the text goes back to the model."""
    raise NotImplementedError("`{name}` has no body yet: write it in {path}")
'''

PACKAGE = '"""The handlers of our tools: each module registers its own."""\n'


def handler_file(name: str, package: str, output: str, *, is_async: bool = False) -> HandlerFile:
    """A module that registers a handler for ``name`` which says that it has no body yet.

    ``package`` is the dotted package of the handlers, ``output`` that of the generated code;
    ``name`` must be a valid tool name, so that it can stand in code and in a path.
    """
    module = name.replace("-", "_")
    path = f"{package.replace('.', '/')}/{module}.py"
    # `from generated.tools import class` cannot be written, nor may a module take the name of
    # something else in the text: such a tool is named as text.
    typed = not keyword.iskeyword(module) and module not in ("Any", "annotations", "handler")
    template = _TYPED if typed else _BY_NAME
    text = template.format(
        name=name,
        module=module,
        output=output,
        path=path,
        define="async def" if is_async else "def",
    )
    return HandlerFile(path, text)


def package_files(package: str) -> dict[str, str]:
    """The ``__init__.py`` of a dotted package and of those around it, by path.

    Without one, any other package of the same name that Python finds would hide the folder.
    """
    parts = package.split(".")
    return {
        "/".join([*parts[:depth], "__init__.py"]): PACKAGE if depth == len(parts) else ""
        for depth in range(1, len(parts) + 1)
    }
