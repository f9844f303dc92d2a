"""How long the verdict of a check function is remembered, and who is warned of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from hermes_build.runtime.availability import Availability
from hermes_build.runtime.errors import Unavailable
from tests.availability.tools import CHECKED, SECRET, record
from tests.contract.programs import Check, Clock


class Asked:
    """A tool that is asked for again and again, while time passes and its check changes."""

    def __init__(self, availability: Availability, clock: Clock) -> None:
        self.availability = availability
        self.clock = clock
        self.check = Check()

    def __call__(self, answer: Any, *, after: float = 0) -> tuple[bool, int]:
        """Ask when the check would give this answer, so many seconds later than before.

        Returns whether the tool is available, and how often its check ran until now.
        """
        self.check.answer = answer
        self.clock.now += after
        return self.availability.missing(CHECKED, self.check) == (), self.check.runs


@pytest.fixture
def asked(availability: Availability, clock: Clock) -> Asked:
    return Asked(availability, clock)


def test_within_the_ttl_a_check_does_not_run_again(
    availability: Availability, clock: Clock
) -> None:
    for check in (Check(True), Check(False)):
        first = availability.missing(CHECKED, check)
        check.answer = not check.answer
        clock.now += 29.9
        assert availability.missing(CHECKED, check) == first
        assert check.runs == 1
        clock.now += 0.1
        availability.missing(CHECKED, check)
        assert check.runs == 2


def test_a_failure_within_the_grace_is_passed_over_and_not_kept(asked: Asked) -> None:
    assert asked(True) == (True, 1)
    assert asked(False, after=30) == (True, 2)
    assert asked(False) == (True, 3)
    assert asked(False) == (True, 4)
    assert asked(RuntimeError("busy")) == (True, 5)
    assert asked(Unavailable("busy"), after=29.9) == (True, 6)


def test_past_the_grace_a_failure_counts_and_is_kept(asked: Asked) -> None:
    assert asked(True) == (True, 1)
    assert asked(False, after=60) == (False, 2)
    assert asked(True, after=29.9) == (False, 2)
    assert asked(True, after=0.1) == (True, 3)


def test_the_grace_is_counted_from_the_last_success(asked: Asked) -> None:
    assert asked(True) == (True, 1)
    assert asked(True, after=50) == (True, 2)
    assert asked(True, after=50) == (True, 3)
    assert asked(False, after=50) == (True, 4)
    assert asked(False, after=10) == (False, 5)


def test_a_failure_without_an_earlier_success_counts_at_once(asked: Asked) -> None:
    assert asked(False) == (False, 1)
    assert asked(False, after=30) == (False, 2)


def test_no_grace_excuses_an_answer_that_is_no_bool(asked: Asked) -> None:
    assert asked(True) == (True, 1)
    assert asked(None, after=30) == (False, 2)


def test_invalidating_forgets_verdicts_and_successes(
    asked: Asked, availability: Availability
) -> None:
    assert asked(True) == (True, 1)
    availability.invalidate()
    assert asked(False) == (False, 2)
    availability.invalidate()
    assert asked(True) == (True, 3)


def test_a_verdict_from_before_an_invalidation_is_not_kept(availability: Availability) -> None:
    answers = [False, True]

    def check() -> bool:
        availability.invalidate()  # a setting changes while the check looks at the former one
        return answers.pop(0)

    assert availability.missing(CHECKED, check) != ()
    assert availability.missing(CHECKED, check) == ()
    assert not answers


def test_a_success_from_before_an_invalidation_excuses_nothing(
    availability: Availability, clock: Clock
) -> None:
    up = True

    def check() -> bool:
        if not up:
            availability.invalidate()
        return up

    assert availability.missing(CHECKED, check) == ()
    up = False
    clock.now += 30
    assert availability.missing(CHECKED, check) != ()


def test_ttl_and_grace_are_settings(clock: Clock) -> None:
    availability = Availability(ttl=0, grace=5, clock=clock)
    asked = Asked(availability, clock)
    assert asked(True) == (True, 1)
    assert asked(True) == (True, 2)
    assert asked(False, after=4.9) == (True, 3)
    availability.grace = 0
    assert asked(False) == (False, 4)


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [one for one in caplog.records if one.name == "hermes_build.runtime"]
    assert all(one.levelno == logging.WARNING for one in found)
    messages = [one.getMessage() for one in found]
    caplog.clear()
    return messages


def test_a_missing_tool_is_warned_of_once_for_each_reason(
    availability: Availability, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HB_KEY", raising=False)
    monkeypatch.setenv("HB_OTHER", SECRET)
    tool = record("search", env=["HB_KEY", "HB_OTHER"])
    for _ in range(3):
        availability.missing(tool, None)
        availability.listing().missing(tool, None)
        availability.invalidate()
    assert warned(caplog) == ["Tool search is unavailable: set HB_KEY"]
    availability.missing(record("other", env=["HB_KEY"]), None)
    assert warned(caplog) == ["Tool other is unavailable: set HB_KEY"]
    monkeypatch.setenv("HB_KEY", SECRET)
    monkeypatch.setenv("HB_OTHER", "")
    availability.missing(tool, None)
    assert warned(caplog) == [
        "Tool search is unavailable: set HB_OTHER (HB_OTHER is set, and empty)"
    ]


def test_quiet_callers_hear_nothing_and_keep_nobody_else_from_hearing(
    availability: Availability, caplog: pytest.LogCaptureFixture
) -> None:
    check = Check(False)
    availability.missing(CHECKED, check, quiet=True)
    availability.listing(quiet=True).missing(CHECKED, check)
    assert warned(caplog) == []
    availability.missing(CHECKED, check)
    assert warned(caplog) == ["Tool t is unavailable: its check function returned False"]


def test_a_failure_that_is_passed_over_is_warned_of(
    availability: Availability, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    check = Check(True)
    availability.missing(CHECKED, check)
    clock.now += 30
    check.answer = Unavailable("the daemon is busy")
    for _ in range(2):
        assert availability.missing(CHECKED, check) == ()
    [message] = warned(caplog)
    assert message.startswith("Tool t stays available")
    assert message.endswith("the daemon is busy")


def test_a_credential_in_a_reason_is_not_logged(
    availability: Availability, caplog: pytest.LogCaptureFixture
) -> None:
    availability.missing(CHECKED, Check(Unavailable(f"the server refuses Bearer {SECRET}")))
    [message] = warned(caplog)
    assert "the server refuses" in message
    assert SECRET not in message
