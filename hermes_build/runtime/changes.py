"""How a registry is changed while its program runs.

A change is a function that is given a `Draft`, looks at what is there, raises or writes. It is made
under the lock, and what came of it takes the place of what was in one assignment; the generation
grows by one. In a batch (`hermes_build.runtime.batches`) many are made as one.
"""

from __future__ import annotations

from hermes_build.runtime.toolsets import Toolsets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from contextvars import ContextVar
    from typing import Any

    from hermes_build.runtime.batches import Batch
    from hermes_build.runtime.catalogue import Catalogue
    from hermes_build.runtime.drafts import Draft
    from hermes_build.runtime.overlay import Overlay
    from hermes_build.runtime.plugins import Plugin
    from hermes_build.runtime.servers import Server
    from hermes_build.runtime.shapes import Binding


class Changes(Toolsets):
    """What may change a registry: plugins, servers, the host program."""

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue)
        self._bindings: dict[str, Binding] = {}
        self._generation = 0
        self._batches: ContextVar[Batch | None] | None = None

    @property
    def generation(self) -> int:
        """A number that grows with every change of what can be called or listed."""
        return self._generation

    def plugin(self, name: str, *, allow_override: bool = False) -> Plugin:
        """Issue the handle through which one plugin registers its tools.

        ``allow_override`` lets it replace and remove tools that it does not own.

        Raises:
            ValueError: when a plugin has this name already, or the name is empty.
        """
        from hermes_build.runtime.plugins import Plugin

        handle = Plugin(self._whole(), name, allow_override)
        if not str(name).strip():
            raise ValueError("A plugin's name must not be empty.")
        self._change(lambda draft: self._issue(draft, handle))
        return handle

    def server(self, name: str) -> Server:
        """Issue the handle through which the tools of one MCP server are registered.

        Raises:
            ValueError: when a server, a toolset or an alias has this name already, or when
                ``mcp-`` and the name cannot be a toolset's name.
        """
        from hermes_build.runtime.servers import Server, demand_name

        handle = Server(self._whole(), name, False)

        def issue(draft: Draft) -> None:
            demand_name(self, draft, name)
            self._issue(draft, handle)

        self._change(issue)
        return handle

    def deregister(self, name: str) -> None:
        """Take a tool out, whoever registered or declared it; an unknown name is no error.

        A declared tool is neither listed nor found nor called any more in this process, until the
        host program registers a handler for it again. With the last tool of a toolset go the
        aliases that were added to it.

        Raises:
            PermissionError: when it is an MCP server's, whose own handle alone removes it.
        """
        from hermes_build.runtime.plugins import take_away

        self._change(lambda draft: take_away(self._whole(), draft, name))

    def batch(self) -> AbstractContextManager[None]:
        """Make the changes in a ``with`` block all or nothing.

        They take effect together at its end, as one generation. Where it raises, tools, handles,
        toolsets and the generation number are what they were.

        Raises:
            At the end, what one of the changes raises on a registry that others have changed.
        """
        from hermes_build.runtime.batches import batch

        return batch(self)

    # Making a change.

    def _change(self, operation: Callable[[Draft], None]) -> None:
        """Make one change, or add it to the batch that is open."""
        batch = self._open_batch()
        if batch is not None and batch.add(operation):
            return
        with self._lock:
            draft = self._draft(self._overlay)
            operation(draft)
            self._publish(draft)
        self._log(draft)

    def _publish(self, draft: Draft) -> None:
        """Let a draft take effect; under the lock."""
        overlay = draft.overlay
        if overlay is self._overlay and not draft.bindings:
            return
        # A reader between two of these lines finds a handler without its tool, never the reverse.
        self._bindings.update({name: one for name, one in draft.bindings.items() if one})
        self._overlay = overlay
        for name, binding in draft.bindings.items():
            if binding is None:
                self._bindings.pop(name, None)
        self._changed()

    def _log(self, draft: Draft) -> None:
        """Log what a change that has taken effect warns of; no lock is held."""
        if draft.warnings:
            from logging import getLogger

            log = getLogger("hermes_build.runtime")
            for message, *parts in draft.warnings:
                log.warning(message, *parts)

    def interrupted(self) -> None:
        """In a process that was forked in the midst of a change, whoever made it: note it.

        What was published of it holds, since that takes one assignment.
        """
        self._changed()

    def _changed(self) -> None:
        """Note that something changed, at the end of a change and under the lock."""
        self._generation += 1

    def _draft(self, base: Overlay) -> Draft:
        from hermes_build.runtime.drafts import Draft

        return Draft(self._whole(), base)

    def _issue(self, draft: Draft, handle: Plugin) -> None:
        key = (handle.kind, handle.name)
        if key in draft.handles:
            raise ValueError(f"There is a {handle.origin} already; close its handle first.")
        draft.write("handles", only_adds=True)[key] = handle

    def _open_batch(self) -> Batch | None:
        """The batch that is open in this flow of control, or None."""
        batch = None if self._batches is None else self._batches.get()
        return batch if batch is not None and batch.is_open else None

    def _batch_variable(self) -> ContextVar[Batch | None]:
        if self._batches is None:
            from hermes_build.runtime.batches import new_variable

            variable = new_variable()
            with self._lock:
                if self._batches is None:
                    self._batches = variable
        return self._batches

    def _whole(self) -> Any:
        """This registry, with all its parts."""
        return self
