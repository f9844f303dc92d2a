"""Which tools are handed on, and the limits that the environment sets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from handlers.refusal import Refusal

if TYPE_CHECKING:
    from hermes_build.runtime.session import Session

DELEGATE = "delegate_task"
EXECUTE = "execute_code"
ASK = "clarify"

_OF_ONE_CALL = frozenset({"session", "tool_call_id"})


def session_of_call(session: Session | None) -> Session:
    """The session of the call, or all of the compiled program's tools where it had none."""
    if session is not None:
        return session
    from generated.registry import registry

    return registry.session()


def narrowed(
    session: Session,
    without: Iterable[str],
    toolsets: Iterable[str] | None = None,
    deferred: Iterable[str] = (),
) -> Session:
    """A session with less than this one.

    Args:
        session: what to stay within.
        without: tools that are out; those that the program does not have are passed over.
        toolsets: toolsets and single tools to choose from this session; None for all of it.
        deferred: what is found rather than listed.

    Raises:
        Refusal: for a name of ``toolsets`` that is unknown, or of which this session has nothing.
    """
    from hermes_build.runtime.errors import UnknownToolset

    chosen = None if toolsets is None else list(toolsets)
    try:
        for name in chosen or ():
            if not session.narrow([name]).names:
                raise Refusal(
                    f"You have no tool of {name!r} to hand on.", your_tools=list(session.names)
                )
        known = [name for name in without if session.registry.find(name) is not None]
        return session.narrow(chosen, known, deferred=deferred)
    except UnknownToolset as error:
        raise Refusal(str(error.args[0]), your_tools=list(session.names)) from None


def handed_on(context: Mapping[str, Any]) -> dict[str, Any]:
    """What calls that come of a call are told of its context."""
    return {name: value for name, value in context.items() if name not in _OF_ONE_CALL}


def whole_number(name: str, default: int, most: int) -> int:
    """A limit that an environment variable may set.

    Raises:
        Refusal: when it is no whole number from 1 to ``most``.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most:
        return int(text)
    raise Refusal(
        f"{name} must be a whole number from 1 to {most}; whoever runs this must mend it."
    )
