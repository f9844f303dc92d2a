"""What the tests of stubs share: the stubs of all odd schemas, of both kinds."""

from __future__ import annotations

import pytest

from hermes_build.compiler.emit.naming import Kind
from hermes_build.compiler.emit.stubs import Stub, make_stubs
from tests.stubs.odd_schemas import requests
from tests.stubs.written import KINDS


@pytest.fixture(scope="session")
def made() -> dict[Kind, dict[str, Stub]]:
    return {kind: make_stubs(requests(), kind) for kind in KINDS}
