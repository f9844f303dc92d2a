"""Several changes of a registry as one: all of them, or none.

While a batch is open, what its block of code changes is entered in a draft, and mistakes are raised
where they are made; everybody, that code included, still reads the registry as it was. At the end
the draft takes the registry's place. Where the registry has changed meanwhile, the changes are made
again on what it is by then.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from hermes_build.forks import forked_lock
from hermes_build.runtime.drafts import Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hermes_build.runtime.changes import Changes


class Batch:
    """The changes of one open batch."""

    __slots__ = ("_base", "_draft", "_generation", "_lock", "_operations", "_registry", "is_open")

    def __init__(self, registry: Changes) -> None:
        self._registry = registry
        self._lock = forked_lock()
        self._operations: list[Callable[[Draft], None]] = []
        with registry._lock:
            self._generation = registry._generation
            self._base = registry._overlay
        self._draft = registry._draft(self._base)
        self.is_open = True

    def add(self, operation: Callable[[Draft], None]) -> bool:
        """Make one more change, which leaves nothing behind where it raises.

        False where the batch is over, as it may be for a thread that was started within it.
        """
        with self._lock:
            if self.is_open:
                operation(self._draft)
                self._operations.append(operation)
            return self.is_open

    def close(self) -> None:
        """Take no more changes."""
        with self._lock:
            self.is_open = False

    def mark(self) -> int:
        """How many changes there are; `back_to` takes those away that came later."""
        return len(self._operations)

    def back_to(self, mark: int) -> None:
        """Take back the changes that were made since a mark."""
        with self._lock:
            del self._operations[mark:]
            self._draft = self._made_on(self._registry._draft(self._base))

    def commit(self) -> None:
        """Let the changes take effect.

        Raises:
            Whatever one of them raises when it is made again on a registry that has changed.
        """
        registry = self._registry
        with self._lock, registry._lock:
            draft = self._draft
            if registry._generation != self._generation:
                draft = self._made_on(registry._draft(registry._overlay))
            registry._publish(draft)
            self.is_open = False
        registry._log(draft)

    def _made_on(self, draft: Draft) -> Draft:
        for operation in self._operations:
            operation(draft)
        return draft


def new_variable() -> ContextVar[Batch | None]:
    """Where one registry keeps which batch is open, for each flow of control by itself."""
    return ContextVar("hermes_build_batch", default=None)


@contextmanager
def batch(registry: Changes) -> Iterator[None]:
    """Collect the changes of a block of code; one inside another is a part of it."""
    variable = registry._batch_variable()
    outer = registry._open_batch()
    if outer is not None:
        mark = outer.mark()
        try:
            yield
        except BaseException:
            outer.back_to(mark)
            raise
        return
    opened = Batch(registry)
    token = variable.set(opened)
    try:
        yield
        opened.commit()
    finally:
        opened.close()
        variable.reset(token)


@contextmanager
def outside(registry: Changes) -> Iterator[None]:
    """Let changes take effect at once, whatever batch is open: those of a module's own import."""
    variable = registry._batch_variable()
    token = variable.set(None)
    try:
        yield
    finally:
        variable.reset(token)
