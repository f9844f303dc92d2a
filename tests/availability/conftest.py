"""Availability whose time passes when a test says so."""

from __future__ import annotations

import pytest

from hermes_build.runtime.availability import Availability
from tests.contract.programs import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def availability(clock: Clock) -> Availability:
    return Availability(clock=clock)
