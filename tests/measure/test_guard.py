"""What a signal raises gets through whatever runs meanwhile; the driver's own tests show what follows."""

import asyncio
import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from measure.guard import Ended
from tests.waiting import PATIENCE


@pytest.fixture
def ending() -> Iterator[None]:
    """SIGUSR1 raises what SIGTERM raises in a verb."""

    def told(_: int, __: FrameType | None) -> None:
        raise Ended("ended by SIGUSR1", 143)

    before = signal.signal(signal.SIGUSR1, told)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("ending")
def test_it_ends_a_loop_whose_task_nobody_awaits() -> None:
    async def hit() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)

    async def program() -> None:
        task = asyncio.ensure_future(hit())
        await asyncio.Event().wait()
        await task

    with pytest.raises(Ended) as ended:
        asyncio.run(asyncio.wait_for(program(), timeout=PATIENCE))
    assert (ended.value.code, str(ended.value)) == (143, "ended by SIGUSR1")


@pytest.mark.usefixtures("ending")
def test_nothing_that_catches_exceptions_goes_on() -> None:
    with pytest.raises(Ended):
        try:
            os.kill(os.getpid(), signal.SIGUSR1)
        except Exception:
            pytest.fail("it went on")
