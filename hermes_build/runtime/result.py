"""What a call gives back: JSON text, made from what a handler returned."""

from __future__ import annotations

from json import dumps, loads

from hermes_build.runtime.errors import Refusal, describe
from hermes_build.runtime.models import data_of, is_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from hermes_build.runtime.validation import Output


def tool_error(message: object, **extra: object) -> str:
    """An error as JSON text: ``{"error": message, ...extra}``, non-ASCII kept.

    Raises:
        ValueError: for an extra called ``error``, and for NaN or an infinity.
    """
    if "error" in extra:
        raise ValueError("tool_error() has its message already; an extra may not be called 'error'")
    return encode({"error": str(message), **extra})


def tool_result(data: object = None, **fields: object) -> str:
    """A result as JSON text: of ``data``, or of the keyword fields, non-ASCII kept.

    Raises:
        ValueError: when both are given, and for NaN or an infinity.
    """
    if data is not None and fields:
        raise ValueError("tool_result() takes data or keyword fields, not both")
    return encode(fields if data is None else data)


def encode(value: object, *, without_defaults: bool = False) -> str:
    """Compactness as hermes-agent has it, and text that UTF-8 can always carry.

    ``without_defaults`` is for models; see `hermes_build.runtime.models.data_of`.
    """

    def plain(inner: object) -> object:
        from collections.abc import Mapping

        if isinstance(inner, Mapping):
            return dict(inner)
        if is_model(inner):
            return data_of(inner, without_defaults=without_defaults)
        raise TypeError(f"a value of type {type(inner).__name__} has no form in JSON")

    return utf8(dumps(value, ensure_ascii=False, allow_nan=False, default=plain))


def utf8(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD; the same object where it has none."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Surrogate pairs that JSON escapes left apart are joined; what stays alone is replaced.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def deliver(tool: str, result: Any, output: Output | None) -> Any:
    """Hold a handler to the result contract: text, a multimodal envelope, or JSON as declared.

    Args:
        tool: the tool's name, for the error.
        result: what the handler returned.
        output: the gate of the tool's ``output_schema``; None where it declares none.

    Returns:
        The JSON text for the model, or the envelope itself.

    Raises:
        Refusal: for a result of a kind that cannot be delivered.
    """
    if isinstance(result, str):
        if output is not None:
            _check_text(tool, result, output)
        return utf8(result)
    if isinstance(result, dict) and result.get("_multimodal") is True:
        if isinstance(result.get("content"), list):
            return result
        _break_contract(tool, result, "a multimodal envelope needs a list `content`")
    if output is None and not isinstance(result, dict | list):
        result = _data(tool, result)
    try:
        text = encode(result)
        if output is None:
            return text
        # The text is what the model gets, so the text is what is held against the schema.
        value = loads(text)
        if not (output.fits(value) or _is_error(value)):
            text = _without_nulls(tool, result, value, output)
    except (TypeError, ValueError, RecursionError) as error:
        _break_contract(tool, result, f"it cannot be written as JSON ({describe(error)})")
    # A model may be one text alone, which is delivered as text always is.
    return loads(text) if isinstance(value, str) and is_model(result) else text


def _without_nulls(tool: str, result: object, value: object, output: Output) -> str:
    """The text of a result once more, without what its models may leave out."""
    text = encode(result, without_defaults=True)
    if not output.fits(loads(text)):
        _misfit(tool, result, output.problems(value))
    return text


def _check_text(tool: str, text: str, output: Output) -> None:
    """Text is delivered unchanged when it, or the JSON that it holds, fits; errors always may."""
    try:
        value = loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        value = text
    if not (output.fits(value) or output.fits(text) or _is_error(value)):
        meant = value if isinstance(value, dict | list) else text
        _misfit(tool, text, output.problems(meant))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _is_error(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("error"), str)


def _data(tool: str, result: object) -> object:
    from collections.abc import Mapping

    if isinstance(result, Mapping):
        return result
    if is_model(result) and isinstance(data := data_of(result), dict | list):
        return data
    close = getattr(result, "close", None)
    if hasattr(result, "__await__") and callable(close):
        close()  # a coroutine that nobody will await says so in a warning, far from its cause
        _break_contract(tool, result, "an async handler must be registered as async")
    _break_contract(
        tool, result, "return text, a dict or a list, or declare an `output_schema` for it"
    )


def _misfit(tool: str, result: object, problems: str) -> NoReturn:
    _break_contract(tool, result, f"it does not fit the tool's `output_schema`: {problems}")


def _break_contract(tool: str, result: object, why: str) -> NoReturn:
    kind = type(result).__name__
    raise Refusal(
        f"Tool handler returned unsupported result type: {kind} ({why})",
        error_type="tool_result_contract",
        tool=tool,
        result_type=kind,
    )
