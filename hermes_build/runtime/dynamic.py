"""Dynamic schemas: what a running program rewrites of a tool's definition, where its spec lets it.

A tool's ``dynamic_schema_overrides`` is called at each listing. It returns either parts of the
function object (``{"description": ..., "parameters": ...}``), values by JSON pointer
(``{"/parameters/properties/model/enum": [...]}``), or both. What comes out may differ from the
declared schema at the declared pointers alone, keeps its name, must be a schema itself, and leaves
no property missing that a declared default fills in. Otherwise the declared schema stands, and a
warning names the tool.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hermes_build.runtime.drift import differing, equal
from hermes_build.runtime.errors import describe
from hermes_build.runtime.json_faults import not_a_schema, not_json
from hermes_build.runtime.logs import warn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hermes_build.runtime.coercion import Repair
    from hermes_build.runtime.defaults import Plan
    from hermes_build.runtime.errors import Refusal
    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.validation import Arguments

_memos: WeakKeyDictionary[ToolRegistry, dict[str, tuple[Any, Any, dict[str, Any]]]]
_memos = WeakKeyDictionary()
"""By registry and tool: the overrides that were given last, the declared schema, what it became."""

_warned: WeakKeyDictionary[ToolRegistry, set[tuple[str, str]]] = WeakKeyDictionary()

_WORDS = frozenset({"description", "title", "examples", "$comment"})
"""Keywords that say nothing about which arguments are valid."""


def effective_schema(registry: ToolRegistry, record: dict[str, Any]) -> dict[str, Any]:
    """``{"name", "description", "parameters"}`` of a tool as it is now, not to be changed.

    Args:
        record: the tool's record, as ``registry.find`` gives it.
    """
    schema, why = rewritten(registry, record)
    if why:
        _warn(registry, record["name"], why)
    return record["schema"] if schema is None else schema


def rewritten(
    registry: ToolRegistry, record: dict[str, Any]
) -> tuple[dict[str, Any] | None, str | None]:
    """The schema of a tool as its overrides have it now, and why they are passed over.

    Both are None where the handler has none.
    """
    static: dict[str, Any] = record["schema"]
    try:
        overrides = registry.binding(record["name"]).dynamic_schema_overrides
    except (ImportError, LookupError) as error:
        return None, f"its handler is not there: {error}"
    if overrides is None:
        return None, None
    try:
        given = overrides()
        if not hasattr(given, "keys"):
            raise _Broken(f"it returned {type(given).__name__}, not a dict")
        memos = _memos.setdefault(registry, {})
        memo = memos.get(record["name"])
        # The declared schema may be another one by now: a plugin may have taken the tool's place.
        if memo is not None and equal(memo[0], given) and equal(memo[1], static):
            return memo[2], None
        given = dict(given)
        if fault := not_json(given):
            raise _Broken(f"what it returned is not JSON: {fault}")
        given = deepcopy(given)
        made = _made(static, given, record.get("dynamic", ()))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # foreign code, and a listing must not fail for it
        return None, str(error) if isinstance(error, _Broken) else f"it raised {describe(error)}"
    memos[record["name"]] = (given, static, made)
    return made, None


def changes_validation(record: Mapping[str, Any]) -> bool:
    """Whether what a tool declares as dynamic may change which arguments are valid."""
    return any(pointer.rpartition("/")[2] not in _WORDS for pointer in record.get("dynamic", ()))


class DynamicArguments:
    """The gate in front of a handler whose schema a running program rewrites: see `Arguments`."""

    __slots__ = ("_made", "_record", "_registry")

    def __init__(self, registry: ToolRegistry, record: dict[str, Any]) -> None:
        self._registry = registry
        self._record = record
        self._made: tuple[dict[str, Any], Arguments] | None = None

    def fit_as_they_are(self, args: Any) -> bool:
        """Whether arguments can be handed on without a change."""
        return self._now().fit_as_they_are(args)

    def judge(self, args: Any) -> dict[str, Any] | Refusal:
        """The arguments as a handler gets them, or why there are none."""
        return self._now().judge(args)

    def accept_reporting(self, args: Any) -> tuple[dict[str, Any], tuple[Repair, ...]]:
        """The arguments as a handler gets them, and what was repaired. Raises `Refusal`."""
        return self._now().accept_reporting(args)

    def _now(self) -> Arguments:
        from hermes_build.runtime.validation import Arguments

        schema = effective_schema(self._registry, self._record)
        made = self._made
        if made is None or made[0] is not schema:
            # One assignment, so that threads never see the gate of one schema beside another.
            self._made = made = (schema, Arguments(self._record["name"], schema["parameters"]))
        return made[1]


class _Broken(Exception):
    """Overrides that break a rule; the message says which."""


def _made(
    static: dict[str, Any], given: dict[str, Any], declared: tuple[str, ...] | list[str]
) -> dict[str, Any]:
    made = deepcopy(static)
    # Whole members first, so that a pointer may lead into one of them.
    made.update({key: value for key, value in given.items() if not key.startswith("/")})
    for pointer, value in given.items():
        if pointer.startswith("/"):
            _put(made, pointer, value)
    for pointer in differing(static, made):
        if not any(pointer == one or pointer.startswith(f"{one}/") for one in declared):
            allowed = ", ".join(declared)
            raise _Broken(f"it changes {pointer}, and the spec lets it change {allowed} alone")
    if not isinstance(made.get("description"), str):
        raise _Broken("the description that it gives is no text")
    parameters = made.get("parameters")
    if not isinstance(parameters, dict) or parameters.get("type", "object") != "object":
        raise _Broken("the parameters that it gives are no schema of an object")
    if fault := not_a_schema(parameters):
        raise _Broken(f"the parameters that it gives are no JSON Schema: {fault}")
    if lost := _lost_default(static["parameters"], parameters):
        raise _Broken(
            f"it leaves `{lost}` without a default that fits, and the handler counts on one: "
            "give such a default, or make it required"
        )
    return made


def _lost_default(static: dict[str, Any], made: dict[str, Any]) -> str:
    """The first property that always reaches a handler by its declared default, and now may not.

    Empty where there is none.
    """
    from hermes_build.runtime.defaults import make_plan
    from hermes_build.runtime.subschemas import subschema_check

    if equal(static, made) or (before := make_plan(static, subschema_check(static))) is None:
        return ""
    now = make_plan(made, subschema_check(made))
    there = made.get("required", ())
    return next((name for name in before.defaults if not _is_filled(now, name, there)), "")


def _is_filled(plan: Plan | None, name: str, required: Collection[str]) -> bool:
    return name in required or (plan is not None and name in plan.defaults)


def _put(root: dict[str, Any], pointer: str, value: Any) -> None:
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]
    node: Any = root
    try:
        for part in path:
            node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
        if isinstance(node, list):
            node[int(last)] = value
        else:
            node[last] = value
    except (AttributeError, IndexError, TypeError, ValueError):
        raise _Broken(f"there is no place {pointer} in the definition") from None


def _warn(registry: ToolRegistry, tool: str, why: str) -> None:
    warned = _warned.setdefault(registry, set())
    if (tool, why) in warned:
        return
    warned.add((tool, why))
    warn(
        "dynamic_schema_overrides of %s is passed over, and its declared schema stands: %s",
        tool,
        why,
    )
