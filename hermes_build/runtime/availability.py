"""Whether a tool can be used here and now, and what is missing where it cannot.

A tool is available when all that its spec requires is here, and its check function, if it has one,
returns True. Check functions probe the world outside (a daemon, a login), which is slow, and may
fail for a moment. So a verdict is kept for a while, and a failure soon after a success counts as a
hiccup.
"""

from __future__ import annotations

import os
import time

from hermes_build.forks import forked_lock
from hermes_build.runtime.errors import Unavailable, describe
from hermes_build.runtime.requirements import importable, on_path, unmet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_LONGEST = 500
"""Characters of an exception's text that a reason holds."""
_ROOM = 1_000
"""Checks that are remembered before those that have expired are dropped."""
_WARNINGS = 10_000
"""Warnings that are remembered, so that none is logged twice; then all of them are forgotten."""


class Availability:
    """What is known of the availability of a program's tools.

    Args:
        ttl: seconds for which the verdict of a check, and whether a module or a command is here,
            are used again. Environment variables are read each time.
        grace: seconds after a check's last True in which its failure counts as a hiccup: the tool
            stays available, and the check is asked again the next time.
        clock: the time in seconds, from any start.

    All three may be set later. ``invalidations`` is how often `invalidate` was called.

    Check functions are told apart by identity. They run while no lock is held: a slow one holds up
    nobody but who asks for its tool, and two threads may run it at once.
    """

    __slots__ = (
        "_checks",
        "_here",
        "_lock",
        "_room",
        "_warned",
        "clock",
        "grace",
        "invalidations",
        "ttl",
    )

    def __init__(
        self,
        ttl: float = 30.0,
        grace: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ttl = ttl
        self.grace = grace
        self.clock = clock
        self.invalidations = 0
        self._lock = forked_lock()
        self._checks: dict[object, _Known] = {}
        self._here: dict[tuple[str, str], tuple[float, str | None, bool]] = {}
        self._room = _ROOM
        self._warned: set[tuple[str, str]] = set()

    def missing(
        self, record: Mapping[str, Any], check: Callable[[], object] | None, quiet: bool = False
    ) -> tuple[str, ...]:
        """Sentences that say what to do before a tool can be used; empty when it is available.

        Args:
            record: the tool's record, of which ``name`` and ``requires`` are read.
            check: its check function, if it has one. It is not run where a requirement is unmet.
                It must return True or False. One that raises counts as False: the text of
                `Unavailable` is the reason as it stands, that of another exception is masked.
            quiet: no warning is logged. There is one for each tool and reason otherwise.

        Raises:
            KeyboardInterrupt: from the check function, and nothing else.
        """
        if check is None and not record.get("requires"):
            return ()
        return Survey(self, quiet).missing(record, check)

    def listing(self, quiet: bool = False) -> Survey:
        """One look at the world: all tools that are asked for through it get coherent answers."""
        return Survey(self, quiet)

    def invalidate(self) -> None:
        """Forget every verdict and every success; what is being probed just now is not kept."""
        with self._lock:
            self._checks = {}
            self._here = {}
            self.invalidations += 1

    def _ask(self, check: Callable[[], object], key: object) -> _Verdict:
        table = self._checks
        known = table.get(key)
        if known is not None and self.clock() < known.at + self.ttl:
            return _Verdict(check, known.reason, None, known.at + self.ttl)
        reason, final = _run(check)
        now = self.clock()
        verdict = _Verdict(check, reason, None, now + self.ttl)
        with self._lock:
            if table is not self._checks:
                return _Verdict(check, reason, None, now)
            known = table.get(key)
            good = None if known is None else known.good
            if reason is None:
                table[key] = _Known(check, now, None, now)
            elif good is not None and now < good + self.grace and not final:
                return _Verdict(check, None, reason, now)
            else:
                table[key] = _Known(check, now, reason, None)
            if len(table) > self._room:
                self._drop_expired(table, now)
        return verdict

    def _drop_expired(self, table: dict[object, _Known], now: float) -> None:
        """Keep a program that makes new check functions all the time from filling the memory."""
        kept = max(self.ttl, self.grace)
        for key in [key for key, one in table.items() if now - one.at >= kept]:
            del table[key]
        self._room = max(_ROOM, 2 * len(table))

    def _look(self, kind: str, name: str, find: Callable[[str], bool]) -> tuple[bool, float]:
        """Whether a module or a command is here, and when it is to be looked for again.

        A command is looked for at once where PATH has changed.
        """
        path = os.environ.get("PATH") if kind == "command" else None
        table = self._here
        known = table.get((kind, name))
        if known is None or known[1] != path or self.clock() >= known[0] + self.ttl:
            found = find(name)
            table[kind, name] = known = (self.clock(), path, found)
        return known[2], known[0] + self.ttl

    def _warn(self, tool: str, reason: str, message: str) -> None:
        """Log a warning, unless the same was logged before."""
        if (tool, reason) in self._warned:
            return
        with self._lock:
            if (
                len(self._warned) >= _WARNINGS
            ):  # their reasons differ each time, by a number in them
                self._warned.clear()
            self._warned.add((tool, reason))
        from logging import getLogger

        getLogger("hermes_build.runtime").warning(message, tool, _masked(reason))


class Survey:
    """One look at the world, as `Availability.listing` makes it; for one thread.

    Each check function runs once at most, whatever it says and however long the listing takes, and
    a variable, module or command that is there for one tool is there for all.

    ``expires`` is when, by `Availability.clock`, something that was asked for is due to be asked
    again, so that another listing might differ; None where nothing was that is remembered at all.
    A hiccup is due at once. Variables do not count, and `Availability.invalidate` does not change
    it: `Availability.invalidations` tells of that.
    """

    __slots__ = ("_availability", "_checks", "_environ", "_here", "_quiet", "_read", "expires")

    def __init__(self, availability: Availability, quiet: bool) -> None:
        self._availability = availability
        self._quiet = quiet
        # The variables that were looked at, since a copy of all of them costs more than the rest.
        self._environ: dict[str, str] = {}
        self._read: set[str] = set()
        self._here: dict[tuple[str, str], bool] = {}
        self._checks: dict[object, _Verdict] = {}
        self.expires: float | None = None

    def missing(
        self, record: Mapping[str, Any], check: Callable[[], object] | None
    ) -> tuple[str, ...]:
        """As `Availability.missing`."""
        requires = record.get("requires")
        reasons = self._unmet(requires) if requires else ()
        if check is not None and not reasons:
            verdict = self._asked(check)
            if verdict.reason is not None:
                reasons = (verdict.reason,)
            elif verdict.hiccup is not None and not self._quiet:
                self._availability._warn(
                    record["name"],
                    verdict.hiccup,
                    "Tool %s stays available, since its check succeeded a moment ago: %s",
                )
        if reasons and not self._quiet:
            message = "Tool %s is unavailable: %s"
            self._availability._warn(record["name"], "; ".join(reasons), message)
        return reasons

    def _unmet(self, requires: Mapping[str, Any]) -> tuple[str, ...]:
        for name in (*requires.get("env", ()), *requires.get("any_env", ())):
            if name not in self._read:
                self._read.add(name)
                value = os.environ.get(name)
                if value is not None:
                    self._environ[name] = value
        return unmet(requires, self._environ, self._has_module, self._has_command)

    def _has_module(self, name: str) -> bool:
        return self._look("module", name, importable)

    def _has_command(self, name: str) -> bool:
        return self._look("command", name, on_path)

    def _look(self, kind: str, name: str, find: Callable[[str], bool]) -> bool:
        found = self._here.get((kind, name))
        if found is None:
            found, due = self._availability._look(kind, name, find)
            self._here[kind, name] = found
            self._expire(due)
        return found

    def _asked(self, check: Callable[[], object]) -> _Verdict:
        key = _key(check)
        verdict = self._checks.get(key)
        if verdict is None:
            verdict = self._checks[key] = self._availability._ask(check, key)
            self._expire(verdict.due)
        return verdict

    def _expire(self, due: float) -> None:
        self.expires = due if self.expires is None else min(due, self.expires)


class _Verdict:
    """Why a check says no (None means available), which failure was passed over, and until when.

    It holds the check itself, so that no other can get its identity meanwhile.
    """

    __slots__ = ("check", "due", "hiccup", "reason")

    def __init__(self, check: object, reason: str | None, hiccup: str | None, due: float) -> None:
        self.check = check
        self.reason = reason
        self.hiccup = hiccup
        self.due = due


class _Known:
    """What is kept of a check: when it answered, why not (or None), and its last True (or None)."""

    __slots__ = ("at", "check", "good", "reason")

    def __init__(
        self, check: Callable[[], object], at: float, reason: str | None, good: float | None
    ) -> None:
        self.check = check
        self.at = at
        self.reason = reason
        self.good = good


def _key(check: Callable[[], object]) -> object:
    """The identity of a check; that of a bound method is that of its object and its function."""
    from types import MethodType

    # Each look-up of a method makes a new object of it.
    if isinstance(check, MethodType):
        return id(check.__self__), id(check.__func__)
    return id(check)


def _run(check: Callable[[], object]) -> tuple[str | None, bool]:
    """Run a check: why it says no, or None; and whether that is a fault, which no grace excuses."""
    try:
        result = check()
    except KeyboardInterrupt:
        raise
    except Unavailable as error:
        return _text(error) or f"{_named(check)} says that it is unavailable", False
    except BaseException as error:  # foreign code; SystemExit must not end the agent either
        text = _masked(describe(error)[: _LONGEST * 10])
        text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        return f"{_named(check)} raised {text}", False
    if result is True:
        return None, False
    if result is False:
        return f"{_named(check)} returned False", False
    kind = type(result).__name__
    if hasattr(result, "__await__"):
        kind = f"{kind}, which would have to be awaited"
        _abandon(result)
    return f"{_named(check)} must return a bool, and returned a value of type {kind}", True


def _abandon(awaitable: Any) -> None:
    """Close a coroutine, or cancel a task, so that nothing is left waiting for ever."""
    end = getattr(awaitable, "close", None) or getattr(awaitable, "cancel", None)
    try:
        if end is not None:
            end()
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever it does when it is closed, the verdict stands
        pass


def _named(check: object) -> str:
    name = getattr(check, "__qualname__", None)
    plain = isinstance(name, str) and name.rpartition(".")[2] != "<lambda>"
    return f"its check function `{name}`" if plain else "its check function"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # foreign code: an exception may fail, or exit, at describing itself
        return ""


def _masked(text: str) -> str:
    from hermes_build.runtime.masking import mask

    return mask(text)
