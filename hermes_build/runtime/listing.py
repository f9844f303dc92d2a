"""What a model sees in one state of the world: made once, kept until something changes."""

from __future__ import annotations

import os
from json import dumps
from typing import TYPE_CHECKING, Any

from hermes_build.runtime.freezing import FrozenList, freeze

if TYPE_CHECKING:
    from hermes_build.runtime.grants import Grants
    from hermes_build.runtime.session import Session


class Listing:
    """The definitions of a session's tools that are available, in the frozen order.

    ``objects`` are deep-frozen, ``json`` is the same as compact JSON. A listing stays current while
    the registry has not changed, what its tools require is as it was, no check is due again, and
    dynamic schemas are what they were. What is equal to a ``former`` listing is taken from it, so
    that the same definitions are the same object.
    """

    __slots__ = (
        "_availability",
        "_dynamic",
        "_environ",
        "_expires",
        "_generation",
        "_invalidations",
        "_json",
        "_registry",
        "objects",
    )

    def __init__(self, session: Session, grants: Grants, former: Listing | None = None) -> None:
        registry = session.registry
        self._registry = registry
        self._generation = grants.generation
        self._availability = registry.availability
        self._invalidations = self._availability.invalidations
        looks = self._availability.listing()
        deferred = frozenset(grants.deferred)
        self._environ: dict[str, str | None] = {}
        self._dynamic: list[tuple[dict[str, Any], dict[str, Any]]] = []
        found: list[dict[str, Any]] = []
        for name in grants.names:
            record = registry._find(grants.state, name)
            if record is None or name in deferred:
                continue
            requires = record.get("requires", {})
            for variable in (*requires.get("env", ()), *requires.get("any_env", ())):
                self._environ[variable] = os.environ.get(variable)
            if requires and looks.missing(record, registry.check_of(record)):
                continue
            found.append({"type": "function", "function": self._schema(record)})
        if session._deferred is not None:
            found += session._deferred.definitions()
        self._expires = looks.expires
        self._json: bytes | None = None
        self.objects: FrozenList = freeze(found)
        # Not by `==`, to which 1 and true are one.
        if former is not None and former.json == self.json:
            self.objects = former.objects

    def _schema(self, record: dict[str, Any]) -> dict[str, Any]:
        schema: dict[str, Any] = record["schema"]
        if record.get("dynamic"):
            from hermes_build.runtime.dynamic import effective_schema

            schema = effective_schema(self._registry, record)
            self._dynamic.append((record, schema))
        return schema

    def is_current(self) -> bool:
        """Whether these are still the definitions."""
        registry = self._registry
        availability = self._availability
        if (
            self._generation != registry._generation
            or self._invalidations != availability.invalidations
        ):
            return False
        if self._expires is not None and availability.clock() >= self._expires:
            return False
        for variable, value in self._environ.items():
            if os.environ.get(variable) != value:
                return False
        if self._dynamic:
            from hermes_build.runtime.dynamic import effective_schema

            # The same object as long as it says the same.
            return all(effective_schema(registry, one) is before for one, before in self._dynamic)
        return True

    @property
    def json(self) -> bytes:
        """The definitions as compact JSON in UTF-8."""
        if self._json is None:
            text = dumps(self.objects, ensure_ascii=False, separators=(",", ":"))
            self._json = text.encode()
        return self._json
