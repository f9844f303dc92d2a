"""What came of a call, as data beside the answer that a model gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_build.runtime import dispatch

if TYPE_CHECKING:
    from hermes_build.runtime.call import Call
    from hermes_build.runtime.coercion import Repair


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call.

    Attributes:
        result: what the model gets: text, or the multimodal envelope that the handler returned.
        status: ``ok``, ``error`` (also one that the handler returned), or ``blocked``.
        error_type: a stable word for what went wrong, as hooks get it; None where nothing did.
        error_message: its sentence, or None.
        repairs: what was changed in the arguments so that they fit.
        duration_ms: how long the handler ran; 0 where it did not.
    """

    result: Any
    status: str
    error_type: str | None
    error_message: str | None
    repairs: tuple[Repair, ...]
    duration_ms: int

    @property
    def ok(self) -> bool:
        """Whether the tool did what it was called for."""
        return self.status == "ok"


def run(call: Call, answer: Any = None) -> Outcome:
    """Take a call that has begun the whole way, unless it has its answer already."""
    if answer is None:
        return _outcome(call, dispatch.run(call))
    call.result = answer
    return _outcome(call, answer)


async def arun(call: Call, answer: Any = None) -> Outcome:
    """The same for an async caller. Raises `asyncio.CancelledError` where that one is cancelled."""
    return run(call, answer) if answer is not None else _outcome(call, await dispatch.arun(call))


def _outcome(call: Call, answer: Any) -> Outcome:
    call.derive_status()
    return Outcome(
        result=answer,
        status=call.status,
        error_type=call.error_type,
        error_message=call.error_message,
        repairs=call.repairs,
        duration_ms=call.duration_ms,
    )
