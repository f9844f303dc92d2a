"""The handler of `delegate_task`.

``OPENAI_API_KEY``, ``OPENAI_BASE_URL`` and ``HERMES_MODEL`` name the model of the helpers.
``HERMES_MAX_CHILDREN`` says how many of one agent's helpers work at once (3), ``HERMES_MAX_DEPTH``
how deep helpers may have helpers of their own (1: not at all), ``HERMES_CHILD_TURNS`` how many
answers of its model a helper may take (25), and ``HERMES_CHILD_SECONDS`` its time (600).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from generated.registry import registry
from generated.tools import delegate_task
from handlers.agents import delegation
from handlers.agents.granting import DELEGATE, session_of_call
from hermes_build.runtime.result import tool_result

if TYPE_CHECKING:
    from hermes_build.runtime.session import Session


def overrides() -> dict[str, Any]:
    """The descriptions of the spec, with the limits that hold at present."""
    record = registry.find(DELEGATE)
    assert record is not None
    return delegation.with_limits(record["schema"], delegation.Limits.from_environment())


@delegate_task.implements(dynamic_schema_overrides=overrides)
async def handler(
    args: delegate_task.Args, *, session: Session | None = None, **context: Any
) -> str:
    tasks = delegation.tasks_of(
        args.get("goal"), args.get("context"), args.get("toolsets"), args.get("tasks")
    )
    limits = delegation.Limits.from_environment()
    return tool_result(
        results=await delegation.delegate(tasks, session_of_call(session), context, limits)
    )
