"""What a call gives back: JSON text, made from what a handler returned."""

from __future__ import annotations

from json import JSONEncoder, loads
from json.encoder import encode_basestring

from hermes_build.runtime.decoding import no_constant
from hermes_build.runtime.errors import Refusal, describe
from hermes_build.runtime.models import data_of, is_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from hermes_build.runtime.errors import ToolFailure
    from hermes_build.runtime.validation import Output


def tool_error(message: object, **extra: object) -> str:
    """An error as JSON text: ``{"error": message, ...extra}``, non-ASCII kept.

    An exception may be the message: it is told by its text, credentials masked, or by its type
    where it has none.

    Raises:
        TypeError: for an extra that has no form in JSON.
        ValueError: for an extra called ``error``, for NaN or an infinity, for too deep nesting.
    """
    return error_text(message, extra)


def error_text(message: object, extra: dict[str, object]) -> str:
    """The same of extras that may have any name but ``error``. Raises as `tool_error`."""
    if "error" in extra:
        raise ValueError("tool_error() has its message already; an extra may not be called 'error'")
    if not extra:
        return f'{{"error": {encode_basestring(utf8(_words(message)))}}}'
    return encode({"error": _words(message), **extra})


def tool_result(data: object = None, **fields: object) -> str:
    """A result as JSON text: of ``data``, or of the keyword fields, non-ASCII kept.

    Raises:
        TypeError: for a value that has no form in JSON.
        ValueError: when both are given, for NaN or an infinity, for too deep nesting.
    """
    if data is not None and fields:
        raise ValueError("tool_result() takes data or keyword fields, not both")
    return encode(fields if data is None else data)


def _words(message: object) -> str:
    """What an error says; to fail at saying it is no reason to lose the error."""
    if type(message) is str:
        return message
    try:
        text = str(message)
    except KeyboardInterrupt:
        raise
    except BaseException:  # foreign code: an exception may fail at describing itself
        return type(message).__name__
    if not isinstance(message, BaseException):
        return text
    from hermes_build.runtime.masking import mask

    return mask(text) or type(message).__name__


def told(failure: ToolFailure) -> str:
    """What a failure says, as a model may see it: with credentials hidden."""
    if failure.kind == "invalid_arguments":
        return failure.message  # it quotes the model itself, and the spec
    from hermes_build.runtime.masking import mask

    return mask(failure.message)


def encode(value: object, *, without_defaults: bool = False) -> str:
    """Compactness as hermes-agent has it, and text that UTF-8 can always carry.

    ``without_defaults`` is for models; see `hermes_build.runtime.models.data_of`.

    Raises:
        TypeError: for a value that has no form in JSON.
        ValueError: for NaN or an infinity, and for nesting that nothing could read.
    """

    encoder = _BARE_ENCODER if without_defaults else _ENCODER
    try:
        return utf8(encoder.encode(value))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _plain(value: object, without_defaults: bool = False) -> object:
    """What JSON can hold in place of a value that it cannot."""
    from collections.abc import Mapping

    if isinstance(value, Mapping):
        return dict(value)
    if is_model(value):
        return data_of(value, without_defaults=without_defaults)
    _close_coroutine(value)
    raise TypeError(f"a value of type {type(value).__name__} has no form in JSON")


_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)
_BARE_ENCODER = JSONEncoder(
    ensure_ascii=False, allow_nan=False, default=lambda value: _plain(value, True)
)


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
    kind = type(result)  # what a value says of its own class may be a lie
    if issubclass(kind, str):
        # A member of an enumeration is text as well, and prints as something else.
        text = utf8(result if kind is str else str.__str__(result))
        if output is not None:
            _check_text(tool, text, output)
        return text
    if issubclass(kind, dict) and result.get("_multimodal") is True:
        if isinstance(result.get("content"), list):
            return result
        _break_contract(tool, result, "a multimodal envelope needs a list `content`")
    if hasattr(type(result), "__await__"):
        _close_coroutine(result)
        _break_contract(tool, result, "an async handler must be registered as async")
    try:
        if output is None:
            return encode(_data(tool, result))
        text = encode(result)
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
        _misfit(tool, result, output, value)
    return text


def _check_text(tool: str, text: str, output: Output) -> None:
    """Text is delivered unchanged when it, or the JSON that it holds, fits; errors always may."""
    try:
        value = loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        value = text
    try:
        fits = output.fits(value) or _is_error(value)
    except ValueError:  # JSON, and too deep for a validator
        fits = False
    if not (fits or output.fits(text)):
        _misfit(tool, text, output, value if isinstance(value, dict | list) else text)


def _is_error(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("error"), str)


def _data(tool: str, result: object) -> object:
    from collections.abc import Mapping

    if isinstance(result, dict | list | Mapping):
        return result
    if is_model(result) and isinstance(data := data_of(result), dict | list):
        return data
    _break_contract(
        tool, result, "return text, a dict or a list, or declare an `output_schema` for it"
    )


def _close_coroutine(value: object) -> None:
    """Close what nobody will await: it would say so in a warning, far from its cause."""
    close = getattr(type(value), "close", None)
    if hasattr(type(value), "__await__") and callable(close):
        close(value)


def _misfit(tool: str, result: object, output: Output, value: object) -> NoReturn:
    try:
        problems = output.problems(value)
    except ValueError:
        problems = "it is nested too deeply to be held against it"
    _break_contract(tool, result, f"it does not fit the tool's `output_schema`: {problems}")


def _break_contract(tool: str, result: object, why: str) -> NoReturn:
    kind = type(result).__name__
    raise Refusal(
        f"Tool handler returned unsupported result type: {kind} ({why})",
        kind="tool_result_contract",
        error_type="tool_result_contract",
        tool=tool,
        result_type=kind,
    )
