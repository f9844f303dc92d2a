"""Holding a call's arguments, or a result, against the schema of its tool.

What fits is handed on as it came. What does not may be repaired, as `hermes_build.runtime.repairs`
says, and is refused unless the whole fits then.

`jsonschema_rs` decides: it alone follows JSON Schema 2020-12 throughout. ``format`` is an
annotation in that specification, and stays one here: what it calls a hint must not refuse a call.
``1.0`` fits an integer, as it says, and is handed on as the int that it is equal to. References are
never fetched from anywhere.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from hermes_build.runtime.defaults import make_plan, make_whole_plan
from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.inspection import Look, no_numbers
from hermes_build.runtime.pointers import refers, target
from hermes_build.runtime.problems import Teller
from hermes_build.runtime.quick import make_strict
from hermes_build.runtime.subschemas import subschema_check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hermes_build.runtime.coercion import Repair
    from hermes_build.runtime.repairs import Repairer

_MOST_LOOKS = 20_000
"""The looks at arguments that reasons are gathered from: some hundreds of milliseconds."""

_MOST_VALUES = 20_000
"""Values in arguments of which every problem is gathered: each may have one, and costs some µs."""

_TOO_MANY = "they do not fit its schema, in more ways than can be listed; send flatter ones"

_OF_KINDS = frozenset({"type", "enum", "const", "anyOf", "oneOf", "falseSchema"})

_WORDS = frozenset({"null", "true", "false"})
_JSON_STARTS = frozenset("-0123456789[{ \t\n\r")

_KIND = "invalid_arguments"


class Arguments:
    """The gate in front of one tool's handler.

    ``fit_as_they_are`` tells, as quickly as can be, that arguments can be handed on without a
    change; it says no, or raises ValueError, where `accept` must look more closely.
    """

    __slots__ = (
        "_fill",
        "_fits_filled",
        "_flat",
        "_is_valid",
        "_name",
        "_nullable",
        "_refers",
        "_repairer",
        "_schema",
        "_teller",
        "_validator",
        "_whole",
        "fit_as_they_are",
    )

    def __init__(self, name: str, schema: dict[str, Any]) -> None:
        from jsonschema_rs import Draft202012Validator

        self._name = name
        self._schema = schema
        # Messages of the library begin with the value, which may be a whole file: masked here,
        # it is shown shortened at the end instead.
        self._validator = Draft202012Validator(schema, offline=True, mask="the value")
        self._is_valid = self._validator.is_valid
        plan = make_plan(schema, subschema_check(schema))
        # Defaults that are immutable and at the root are filled in without a walk.
        self._fill = plan.fill if plan and not plan.is_flat else None
        self._flat = plan.defaults if plan and plan.is_flat else {}
        self._whole = make_whole_plan(schema)
        self._teller = Teller(schema)
        # Made by the first call that does not fit.
        self._repairer: Repairer | None = None
        self._refers: bool | None = None
        strict = make_strict(schema, self._flat, self._whole) if not plan or plan.is_flat else None
        # Most calls carry a flat object that lacks nothing. One look by a compiled validator tells
        # so: its cost is most of a call's, so that there is nothing around it.
        self.fit_as_they_are: Callable[[Any], bool] = strict.fits if strict else _never
        self._fits_filled = strict.fits_but_for_nan if strict else _never
        self._nullable = strict.nullable if strict else ()

    def accept(self, args: Any) -> dict[str, Any]:
        """The arguments as a handler gets them: repaired, defaults filled in, whole numbers int.

        The caller's own object is returned where nothing was to be done, and is never changed.

        Args:
            args: a JSON object, or the text of one; None means none.

        Raises:
            Refusal: (``invalid_arguments``) when they do not fit the schema, and cannot be made to;
                its message is for the model, and speaks of what was sent.
        """
        found = self.judge(args)
        if isinstance(found, Refusal):
            raise found
        return found

    def judge(self, args: Any) -> dict[str, Any] | Refusal:
        """The same as `accept`, with the refusal returned: raising it is a tenth of what it costs.

        ``fit_as_they_are`` has said no, or raised ValueError.
        """
        filled = self._filled_at_once(args) if args.__class__ is dict else None
        if filled is not None:
            return filled
        try:
            found = self._closely(args)
        except Refusal as refusal:
            return refusal
        return found if isinstance(found, Refusal) else found[0]

    def accept_reporting(self, args: Any) -> tuple[dict[str, Any], tuple[Repair, ...]]:
        """The same as `accept`, and every place where another value was put than was sent."""
        try:
            filled = args if self.fit_as_they_are(args) else None
        except ValueError:  # what is wrong with it is found by the closer look
            filled = None
        if filled is None and args.__class__ is dict:
            filled = self._filled_at_once(args)
        if filled is not None:
            return filled, ()
        found = self._closely(args)
        if isinstance(found, Refusal):
            raise found
        arguments, sent, repaired = found
        if sent is repaired:
            return arguments, ()
        from hermes_build.runtime.coercion import differences

        return arguments, tuple(differences(sent, repaired))

    def _filled_at_once(self, args: dict[str, Any]) -> dict[str, Any] | None:
        """Flat arguments that lack nothing but defaults; None where more is to be looked at.

        ``fit_as_they_are`` has said no: where nothing is to be filled in, it would say so again.
        """
        # What was sent keeps its order and its values; what was missing comes behind.
        filled = args | self._flat | args if self._flat else args
        if len(filled) == len(args) and not self._nullable:
            return None
        try:
            if self._fits_filled(filled) and (
                not self._nullable
                or not any(isinstance(filled.get(one), float) for one in self._nullable)
            ):
                return filled
        except ValueError:  # what is wrong with it is found by the closer look
            pass
        return None

    def _closely(self, args: Any) -> tuple[dict[str, Any], Any, Any] | Refusal:
        """Arguments as a handler gets them, what was sent, and the same repaired.

        Raises:
            Refusal: when they are no object, or nested too deeply.
        """
        look = Look()
        value = look.at(args if args.__class__ is dict else self._as_object(args))
        if look.saw_no_number:  # to the validator, this is null
            return self._invalid("; ".join(islice(no_numbers(value), 1)) or "not JSON")
        sent = args if isinstance(args, str) else value
        filled = self._filled(value)
        try:
            if (fitting := self._fitting(value, filled)) is not None:
                return self._with_ints(fitting) if look.saw_floats else fitting, sent, value
            many = look.values > _MOST_VALUES
            errors = self._first_error(filled) if many else self._errors(filled)
            repaired = self._repaired(value, None if many else errors)
            if repaired is not None:
                filled = self._filled(repaired)
                if (fitting := self._fitting(repaired, filled)) is not None:
                    return self._with_ints(fitting), sent, repaired
        except ValueError as error:
            return self._invalid(f"not JSON ({error})")
        if errors is None:
            return self._invalid(_TOO_MANY)
        told = self._teller.tell(errors, value)
        return self._invalid(f"{told}; and there may be more" if many else told)

    def _filled(self, value: dict[str, Any]) -> dict[str, Any]:
        """A value with its defaults; itself where none is missing."""
        if self._fill is not None:
            filled: dict[str, Any] = self._fill(value)
            return filled
        return value if self._flat.keys() <= value.keys() else value | self._flat | value

    def _fitting(self, value: dict[str, Any], filled: dict[str, Any]) -> dict[str, Any] | None:
        if self._is_valid(filled):
            return filled
        # A default may clash with what else is there (`maxProperties`, `dependentRequired`): a call
        # that is right as it stands is then handed on as it stands.
        return value if filled is not value and self._is_valid(value) else None

    def _with_ints(self, value: dict[str, Any]) -> dict[str, Any]:
        changed: dict[str, Any] = value if self._whole is None else self._whole.fill(value)
        return changed

    def _errors(self, value: dict[str, Any]) -> list[Any] | None:
        """What is wrong with arguments; None where finding out would take too long.

        The library knows what it has seen of a recursive schema when it says yes or no, and not
        when it gathers reasons: two branches that both go on inwards double them at each level.
        """
        if self._refers is None:
            self._refers = refers(self._schema)
        if self._refers:  # without references, a schema is no larger than its text
            from hermes_build.looks import multiplied

            if multiplied(self._schema, value, partial(target, self._schema), _MOST_LOOKS):
                return None
        return list(self._validator.iter_errors(value))

    def _first_error(self, value: dict[str, Any]) -> list[Any]:
        from jsonschema_rs import ValidationError

        try:
            self._validator.validate(value)
        except ValidationError as error:
            return [error]
        return []

    def _repaired(self, value: dict[str, Any], errors: list[Any] | None) -> dict[str, Any] | None:
        """Arguments with whatever can be repaired; None where nothing can."""
        names = None if errors is None else _repairable(errors)
        if names is not None and not names:
            return None
        if self._repairer is None:
            from hermes_build.runtime.repairs import Repairer

            self._repairer = Repairer(self._schema)
        repaired = self._repairer.repair(value, names)
        if repaired is value:
            return None
        try:
            Look().at(repaired)
        except Refusal:  # what a text held made it too deep
            return None
        return repaired

    def _invalid(self, why: str) -> Refusal:
        return Refusal(f"Invalid arguments for {self._name}: {why}.", _KIND)

    def _as_object(self, args: Any) -> dict[str, Any]:
        if isinstance(args, dict):
            return args
        why = f"not {type(args).__name__}"
        if isinstance(args, str):
            from hermes_build.runtime.coercion import as_arguments

            try:
                args = as_arguments(args)
            except ValueError as error:
                why = str(error)
            else:
                return {} if args is None else args
        elif args is None:
            return {}
        raise Refusal(f"Arguments of {self._name} must be a JSON object, {why}.", _KIND)


def _repairable(errors: list[Any]) -> set[str | int] | None:
    """The properties at the root of which a value of another kind may stand; None for any of them.

    A value of a kind that is not admitted is told by one of these errors, or by one of a union that
    is about it or about what it is in. Other errors are beyond repair, and so is a value that no
    rule of `hermes_build.runtime.repairs` reads as what is wanted: most of what models get wrong.
    """
    names: set[str | int] = set()
    for one in errors:
        kind = one.kind
        name = kind.name
        if name in _OF_KINDS:
            path = one.instance_path
            if not path:
                return None
            if len(path) > 1 or _may_be_read(name, kind, one.instance):
                names.add(path[0])
    return names


def _may_be_read(name: str, kind: Any, value: Any) -> bool:
    """Whether a value that is refused for its kind may be read as one that is wanted."""
    if name == "type":
        if "array" in kind.types:
            return True
        return isinstance(value, str) and (
            value[:1] in _JSON_STARTS or (len(value) < 6 and value.lower() in _WORDS)
        )
    # Text is what is read, and never what comes of it.
    return name != "enum" or not {str}.issuperset(map(type, kind.options))


def _never(_: object) -> bool:
    return False


class Output:
    """The gate behind one tool's handler: its ``output_schema``."""

    __slots__ = ("_teller", "_validator", "fits")

    def __init__(self, schema: dict[str, Any] | bool) -> None:
        from jsonschema_rs import Draft202012Validator

        self._teller = Teller(schema)
        self._validator = Draft202012Validator(schema, offline=True, mask="the value")
        self.fits: Callable[[Any], bool] = self._validator.is_valid

    def problems(self, value: Any) -> str:
        """What is wrong with a value that does not fit, in words."""
        return self._teller.tell(self._validator.iter_errors(value), value)
