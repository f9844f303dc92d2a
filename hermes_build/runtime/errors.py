"""The exceptions of the runtime: data first, and a message that says what to do."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_build.runtime.mismatch import Mismatch


class CatalogueError(RuntimeError):
    """A generated registry and its catalogue cannot be read, or do not belong together."""


class UnknownToolset(LookupError):
    """A toolset that nobody declares; ``nearest`` is the declared name most like it, or None."""

    def __init__(self, name: str, nearest: str | None) -> None:
        self.name = name
        self.nearest = nearest
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"There is no toolset {name!r}.{hint}")


class RegistrationError(ValueError):
    """A registration of a tool that is refused; nothing was changed.

    ``problems`` holds everything that is wrong, as pairs of a stable word and a sentence; ``kind``
    is the first word. ``place`` is where the handler was written, as path and line, where known.
    """

    def __init__(
        self,
        tool: str,
        *problems: tuple[str, str],
        place: tuple[str, int] | None = None,
    ) -> None:
        self.tool = tool
        self.problems = problems
        self.kind = problems[0][0]
        self.place = place
        where = f" ({place[0]}:{place[1]})" if place else ""
        why = "; ".join(text for _, text in problems)
        super().__init__(f"The tool {tool!r}{where} is not registered: {why}.")


class ToolConflict(RegistrationError):
    """A tool's name that somebody else has already; who has it keeps it.

    ``toolset``, ``origin`` and ``place`` are those of the registration that is refused,
    ``present_toolset``, ``present_origin`` and ``present_place`` those of the tool that is there.
    """

    def __init__(
        self,
        tool: str,
        problem: tuple[str, str],
        *,
        toolset: str | None,
        origin: str,
        place: tuple[str, int] | None,
        present_toolset: str | None,
        present_origin: str,
        present_place: tuple[str, int] | None,
    ) -> None:
        self.toolset = toolset
        self.origin = origin
        self.present_toolset = present_toolset
        self.present_origin = present_origin
        self.present_place = present_place
        super().__init__(tool, problem, place=place)


class ConsentRequired(RegistrationError, PermissionError):
    """A plugin that wants to replace or remove what it does not own, without being allowed to."""


class ToolsetError(ValueError):
    """A toolset that cannot be made; ``kind`` is a stable word for what is wrong with it."""

    def __init__(self, toolset: str, kind: str, message: str) -> None:
        self.toolset = toolset
        self.kind = kind
        super().__init__(f"The toolset {toolset!r} is not made: {message}.")


class ToolFailure(Exception):
    """Raised by a handler to answer with an error: ``{"error": message, ...fields}``.

    ``fields`` are values that JSON can hold. The model gets the message as it is, with credentials
    hidden. ``kind`` is the stable word for the error that hooks see.
    """

    kind = "tool_error"

    def __init__(self, message: str, /, **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields


class Refusal(ToolFailure):
    """A call that ends with an error of ours, which is raised and caught inside that call."""

    def __init__(self, message: str, kind: str = "refused", **fields: object) -> None:
        # The classes above would be told in turn; that is dear where a call is refused in µs.
        self.message = message
        self.kind = kind
        self.fields = fields

    def __str__(self) -> str:
        return self.message


def unavailable(tool: str, missing: tuple[str, ...]) -> Refusal:
    """The refusal of a tool that cannot be used here; ``missing`` are sentences that say why."""
    why = "; ".join(missing).rstrip(".")
    return Refusal(f"Tool {tool} is not available here: {why}.", kind="unavailable")


class HandlerTimeout(TimeoutError):
    """A handler that did not end within its ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"no result within {seconds:g} s")


class Unavailable(Exception):
    """Raised by a tool's check function to say why the tool cannot be used here, in a sentence."""


class HandlerImportError(ImportError):
    """A handler module that fails to import, and the tools that are lost with it.

    ``path`` and ``line`` say where it failed, as far as the traceback tells; ``cause`` is what it
    raised.
    """

    def __init__(
        self,
        module: str,
        tools: tuple[str, ...],
        cause: BaseException,
        path: str | None,
        line: int | None,
    ) -> None:
        self.module = module
        self.tools = tools
        self.cause = cause
        self.line = line
        self.error = describe(cause)
        where = f" ({path}:{line})" if path else ""
        lost = ", ".join(tools) or "none that the catalogue names"
        super().__init__(
            f"Handler module {module!r} fails to import{where}: {self.error}. Tools lost: {lost}.",
            name=module,
            path=path,
        )

    def to_json(self) -> dict[str, object]:
        """Module, error, tools and place as JSON data."""
        return {
            "module": self.module,
            "error": self.error,
            "tools": list(self.tools),
            "path": self.path,
            "line": self.line,
        }

    def again(self) -> HandlerImportError:
        """The same failure as a new exception, since a raised one gathers tracebacks."""
        return HandlerImportError(self.module, self.tools, self.cause, self.path, self.line)


class SchemaDriftError(TypeError):
    """Handlers that do not fit their specs; ``mismatches`` holds every difference found."""

    def __init__(self, mismatches: tuple[Mismatch, ...], headline: str | None = None) -> None:
        self.mismatches = mismatches
        tools = sorted({one.tool for one in mismatches})
        noun = "difference" if len(mismatches) == 1 else "differences"
        headline = headline or (
            f"{len(mismatches)} {noun} between handlers and specs ({', '.join(tools)})"
        )
        super().__init__("\n".join([headline, *(one.render() for one in mismatches)]))


class LoadError(SchemaDriftError):
    """Handler modules that cannot be imported (``failures``), beside any ``mismatches``."""

    def __init__(
        self, mismatches: tuple[Mismatch, ...], failures: tuple[HandlerImportError, ...]
    ) -> None:
        self.failures = failures
        lost = sorted({name for one in failures for name in one.tools})
        headline = f"{len(failures)} handler module(s) fail to import; tools lost: " + (
            ", ".join(lost) or "none that the catalogue names"
        )
        super().__init__(mismatches, "\n".join([headline, *(f"  {one}" for one in failures)]))


name_of = type.__dict__["__name__"].__get__
"""The name of a class, also where its metaclass says another one, or fails at saying it."""


def describe(error: BaseException) -> str:
    """The type and text of an exception on one line, also where its ``__str__`` fails."""
    try:
        text = " ".join(str(error).split())
    except KeyboardInterrupt:
        raise
    except BaseException:  # foreign code: an exception may fail, or exit, at describing itself
        text = ""
    if not text.isascii():  # half a character is one that nothing can be written to
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    name = name_of(type(error))
    return f"{name}: {text}" if text else name
