"""Every way of calling, for the tests that ask for one."""

from __future__ import annotations

import pytest

from tests.faults.asking import WAYS, Ask


@pytest.fixture(params=WAYS, name="ask")
def fixture_ask(request: pytest.FixtureRequest) -> Ask:
    return WAYS[request.param]
