"""Functions that stand in for a tool's handler while a test runs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hermes_build.runtime.drift import Claim
from hermes_build.runtime.registration import drifted, examine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.shapes import Binding


@contextmanager
def stub(registry: ToolRegistry, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Put a function in a tool's place; see `hermes_build.runtime.handlers.Handlers.stub`.

    Stubs lie over what is registered, which goes on beneath them: registering and removing, and
    taking stubs back in any order, need not know of each other.
    """
    record = registry.find(name)
    if record is not None:
        name = record["name"]
        record["handler"] = "external"  # a server's tool can be stood in for like any
    needs_check = bool(record and record.get("requires", {}).get("check"))
    claim = Claim(name, function, check_fn=_passes if needs_check else None)
    differing, binding = examine(registry, claim, record)
    if binding is None or differing:
        raise drifted(registry, claim, record, differing)
    _change(registry, name, lambda stubs: (*stubs, binding))
    try:
        yield
    finally:
        _change(registry, name, lambda stubs: tuple(one for one in stubs if one is not binding))


def _passes() -> bool:
    return True


def _change(
    registry: ToolRegistry,
    name: str,
    change: Callable[[tuple[Binding, ...]], tuple[Binding, ...]],
) -> None:
    with registry._lock:
        registry._stubs = {**registry._stubs, name: change(registry._stubs.get(name, ()))}
        registry._changed()
