"""What the runtime logs: its warnings, and the errors of handlers, with credentials hidden.

A log goes to files and to services that more people read than may know a password. What an
exception says is as likely to hold one there as where a model sees it.
"""

from __future__ import annotations

from hermes_build.runtime.errors import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def warn(message: str, *parts: object, error: BaseException | None = None) -> None:
    """Log a warning: texts among the parts of its message are masked, exceptions described.

    With an ``error``, its traceback goes along, masked as well. The record has it as text,
    ``exc_text``, and not the exception itself, since whatever formats that would tell it all.
    """
    from logging import WARNING

    _log(WARNING, message, parts, error)


def log_failure(message: str, *parts: object, error: BaseException) -> None:
    """Log an error of the program's own, as `warn` does."""
    from logging import ERROR

    _log(ERROR, message, parts, error)


def _log(level: int, message: str, parts: tuple[object, ...], error: BaseException | None) -> None:
    from logging import getLogger

    log = getLogger("hermes_build.runtime")
    if not log.isEnabledFor(level):
        return
    file, line, function, _ = log.findCaller(stacklevel=3)
    told = tuple(map(_masked, parts))
    record = log.makeRecord(log.name, level, file, line, message, told, None, function)
    if error is not None:
        record.exc_text = _traceback(error)
    log.handle(record)


def _masked(part: object) -> Any:
    from hermes_build.runtime.masking import mask

    if isinstance(part, BaseException):
        return mask(describe(part))
    return mask(part) if isinstance(part, str) else part


def _traceback(error: BaseException) -> str | None:
    """The traceback of an exception as text; None where it cannot be printed."""
    from traceback import format_exception

    from hermes_build.runtime.masking import mask
    from hermes_build.runtime.result import utf8

    try:
        # Half a character in it would break the log that it goes to.
        return mask(utf8("".join(format_exception(error)).rstrip("\n")))
    except KeyboardInterrupt:
        raise
    except BaseException:  # foreign code: an exception may fail at whatever it is asked
        return None
