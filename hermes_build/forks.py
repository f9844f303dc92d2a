"""Locks that a forked process gets anew, since the threads that may hold them are not in it.

A fork copies the memory of a process and one of its threads. Whatever the others were doing just
then stands still for ever in the child: a lock that one of them held is never released, and what it
was changing under that lock stays half changed.
"""

from __future__ import annotations

import os
from _thread import RLock
from _weakref import ref  # `weakref` itself takes its time to import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Owner(Protocol):
        """What a lock guards."""

        def interrupted(self) -> None:
            """Finish, or drop, what another thread was changing; called in the child."""


_locks: dict[ref[Any], ref[Owner] | None] = {}


def forked_lock(owner: Owner | None = None) -> RLock:
    """A reentrant lock that is free in a forked process, unless the one who forks holds it.

    Where another thread held it, ``owner.interrupted()`` is called in the child.
    """
    lock = RLock()
    _locks[ref(lock, _forget)] = None if owner is None else ref(owner)
    return lock


def _forget(dead: ref[Any]) -> None:
    _locks.pop(dead, None)


def _renew() -> None:
    for one, owner_of in list(_locks.items()):
        lock = one()
        if lock is None:
            continue
        if lock.acquire(blocking=False):
            lock.release()
            continue
        lock._at_fork_reinit()  # what the locks of the standard library go through, too
        owner = None if owner_of is None else owner_of()
        if owner is not None:
            owner.interrupted()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
