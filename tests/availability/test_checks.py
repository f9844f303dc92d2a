"""What a check function says, and which two are one and the same."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any

import pytest

from hermes_build.runtime.availability import Availability
from hermes_build.runtime.errors import Unavailable
from tests.availability.tools import CHECKED, SECRET, record
from tests.contract.programs import Check, Clock


def test_a_check_decides(availability: Availability) -> None:
    assert availability.missing(CHECKED, lambda: True) == ()
    assert availability.missing(CHECKED, lambda: False) == ("its check function returned False",)


def test_a_reason_names_the_function(availability: Availability) -> None:
    def docker_runs() -> bool:
        return False

    [reason] = availability.missing(CHECKED, docker_runs)
    assert reason.endswith("docker_runs` returned False")


def test_the_reason_that_a_check_gives_stands_as_it_is(availability: Availability) -> None:
    check = Check(Unavailable("INTERACTIVE is off: start the agent with --interactive"))
    assert availability.missing(CHECKED, check) == (
        "INTERACTIVE is off: start the agent with --interactive",
    )


def test_a_check_that_gives_up_without_a_word_is_unavailable_too(
    availability: Availability,
) -> None:
    [reason] = availability.missing(CHECKED, Check(Unavailable()))
    assert reason == "its check function says that it is unavailable"


@pytest.mark.parametrize(
    "error", [RuntimeError("no daemon\nat all"), SystemExit(3), GeneratorExit(), ImportError("x")]
)
def test_a_check_that_raises_counts_as_false(
    availability: Availability, error: BaseException
) -> None:
    [reason] = availability.missing(CHECKED, Check(error))
    assert f"raised {type(error).__name__}" in reason
    assert "\n" not in reason
    assert " ".join(str(error).split()) in reason


def test_an_exception_that_cannot_say_what_it_is_counts_as_false(
    availability: Availability,
) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    class Silent(Unavailable):
        def __str__(self) -> str:
            raise ValueError

    assert availability.missing(CHECKED, Check(Mute())) == ("its check function raised Mute",)
    assert len(availability.missing(CHECKED, Check(Silent()))) == 1


def test_an_interrupt_passes(availability: Availability) -> None:
    with pytest.raises(KeyboardInterrupt):
        availability.missing(CHECKED, Check(KeyboardInterrupt()))


def test_what_a_check_raises_is_masked_and_kept_short(
    availability: Availability, caplog: pytest.LogCaptureFixture
) -> None:
    error = RuntimeError(f"401 for Bearer {SECRET} " + "x" * 10_000)
    [reason] = availability.missing(CHECKED, Check(error))
    assert "401" in reason
    assert len(reason) < 600
    assert SECRET not in reason
    assert SECRET not in caplog.text


@pytest.mark.parametrize("answer", [None, 1, 0, "yes", "no", [True], object()])
def test_an_answer_that_is_no_bool_is_refused(availability: Availability, answer: Any) -> None:
    [reason] = availability.missing(CHECKED, Check(answer))
    assert "must return a bool" in reason
    assert type(answer).__name__ in reason


def test_a_coroutine_is_refused_and_closed(availability: Availability) -> None:
    async def check() -> bool:
        return True

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made: list[Any] = []

        def wrapped() -> Any:
            made.append(check())
            return made[-1]

        [reason] = availability.missing(CHECKED, wrapped)
        assert made[0].cr_frame is None
        made.clear()
        gc.collect()
    assert "must return a bool, and returned a value of type coroutine" in reason


def test_a_task_is_refused_and_cancelled(availability: Availability) -> None:
    async def main() -> tuple[tuple[str, ...], bool]:
        task = asyncio.ensure_future(asyncio.Event().wait())
        reasons = availability.missing(CHECKED, lambda: task)
        await asyncio.wait([task])
        return reasons, task.cancelled()

    [reason], cancelled = asyncio.run(main())
    assert "must return a bool" in reason
    assert cancelled


def test_a_check_is_not_asked_where_a_requirement_is_unmet(
    availability: Availability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HB_KEY", raising=False)
    check = Check(RuntimeError("no key"))
    assert availability.missing(record(env=["HB_KEY"], check=True), check) == ("set HB_KEY",)
    assert check.runs == 0


class Unhashable(Check):
    __hash__ = None  # type: ignore[assignment]


class Equal(Check):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


def test_a_check_need_not_be_hashable(availability: Availability) -> None:
    yes, no = Unhashable(True), Unhashable(False)
    for _ in range(2):
        assert availability.missing(CHECKED, yes) == ()
        assert availability.missing(CHECKED, no) != ()
    assert (yes.runs, no.runs) == (1, 1)


def test_checks_that_are_equal_are_still_two(availability: Availability) -> None:
    yes, no = Equal(True), Equal(False)
    assert availability.missing(CHECKED, yes) == ()
    assert availability.missing(CHECKED, no) != ()


def test_a_method_is_one_check_however_often_it_is_looked_up(availability: Availability) -> None:
    class Backend:
        def __init__(self, up: bool) -> None:
            self.up = up
            self.runs = 0

        def ready(self) -> bool:
            self.runs += 1
            return self.up

    one, other = Backend(True), Backend(False)
    for _ in range(2):
        assert availability.missing(CHECKED, one.ready) == ()
        assert availability.missing(CHECKED, other.ready) != ()
    assert (one.runs, other.runs) == (1, 1)


def test_a_new_check_never_gets_the_verdict_of_one_that_is_gone(
    availability: Availability,
) -> None:
    for nth in range(200):
        up = nth % 2 == 0
        assert (availability.missing(CHECKED, Check(up)) == ()) is up


def test_checks_that_are_made_anew_all_the_time_do_not_fill_the_memory(
    availability: Availability, clock: Clock
) -> None:
    alive = 0

    class Counted(Check):
        def __init__(self) -> None:
            nonlocal alive
            super().__init__()
            alive += 1

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    most = 0
    for _ in range(20_000):
        availability.missing(CHECKED, Counted())
        clock.now += 0.1  # 600 of them within the grace
        most = max(most, alive)
    assert most < 3_000
