"""What a call gives back: JSON text, made from what a handler returned."""

from __future__ import annotations

from json import dumps, loads

from hermes_build.runtime.errors import Refusal, describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


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


def encode(value: object) -> str:
    """Compactness as hermes-agent has it, and text that UTF-8 can always carry."""
    return utf8(dumps(value, ensure_ascii=False, allow_nan=False, default=_plain))


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


def deliver(tool: str, result: Any, fits_output: Callable[[Any], bool] | None) -> Any:
    """Hold a handler to the result contract: text, a multimodal envelope, or JSON as declared.

    Args:
        tool: the tool's name, for the error.
        result: what the handler returned.
        fits_output: tells whether a value fits the tool's ``output_schema``; None where it
            declares none.

    Returns:
        The JSON text for the model, or the envelope itself.

    Raises:
        Refusal: for a result of a kind that cannot be delivered.
    """
    if isinstance(result, str):
        if fits_output is not None:
            _check_text(tool, result, fits_output)
        return utf8(result)
    if isinstance(result, dict) and result.get("_multimodal") is True:
        if isinstance(result.get("content"), list):
            return result
        _break_contract(tool, result, "a multimodal envelope needs a list `content`")
    if fits_output is None and not isinstance(result, dict | list):
        result = _mapping(tool, result)
    try:
        text = encode(result)
    except (TypeError, ValueError, RecursionError) as error:
        _break_contract(tool, result, f"it cannot be written as JSON ({describe(error)})")
    # The text is what the model gets, so the text is what is held against the schema.
    if fits_output is not None and not (fits_output(value := loads(text)) or _is_error(value)):
        _break_contract(tool, result, "it does not fit the tool's `output_schema`")
    return text


def _check_text(tool: str, text: str, fits_output: Callable[[Any], bool]) -> None:
    """Text is delivered unchanged when it, or the JSON that it holds, fits; errors always may."""
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        value = text
    if not (fits_output(value) or fits_output(text) or _is_error(value)):
        _break_contract(tool, text, "it does not fit the tool's `output_schema`")


def _is_error(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("error"), str)


def _mapping(tool: str, result: object) -> object:
    from collections.abc import Mapping

    if isinstance(result, Mapping):
        return result
    close = getattr(result, "close", None)
    if hasattr(result, "__await__") and callable(close):
        close()  # a coroutine that nobody will await says so in a warning, far from its cause
        _break_contract(tool, result, "an async handler must be registered as async")
    _break_contract(
        tool, result, "return text, a dict or a list, or declare an `output_schema` for it"
    )


def _break_contract(tool: str, result: object, why: str) -> NoReturn:
    kind = type(result).__name__
    raise Refusal(
        f"Tool handler returned unsupported result type: {kind} ({why})",
        error_type="tool_result_contract",
        tool=tool,
        result_type=kind,
    )


def _plain(value: object) -> object:
    from collections.abc import Mapping

    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__} has no form in JSON")
