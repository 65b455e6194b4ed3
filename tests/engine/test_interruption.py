"""An `up` that a signal ends, and one that is killed, with a real CLI on an embedded cluster."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from embedded import cluster, processes
from tests.engine.conftest import Engine
from tests.engine.copied_project import Copy
from tests.waiting import eventually

CLI = {"pulumi", "pulumi-resource-kubernetes"}
pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]


@pytest.fixture(scope="module")
def copy(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """Nobody is logged in: the state of `dev` is in the cluster's folder."""
    made = Copy(tmp_path_factory.mktemp("copy"), engine)
    made.stack_file("dev", "dev")
    try:
        yield made
    finally:
        cluster.stop(print, made.state)


@pytest.fixture
def held(copy: Copy) -> Iterator["subprocess.Popen[str]"]:
    """An `up` that waits for the download, which does not end meanwhile."""
    copy.start_cluster()
    kwok = processes.find(copy.state, "kwok")
    assert kwok is not None
    kwok.suspend()
    process = copy.begin("up", "--stack", "dev")

    def there() -> bool:
        assert process.poll() is None, process.communicate()[0]
        job = ("get", "job", "model-download", "--namespace=dynamo", "--ignore-not-found", "--output=name")
        # The Job may be that of an `up` before.
        return names(process) >= CLI and bool(cluster.kubectl(*job, state=copy.state))

    try:
        eventually(there)
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            kwok.resume()
        process.kill()
        process.wait()


def names(process: "subprocess.Popen[str]") -> set[str]:
    return {each.name()[:26] for each in at_work(process)}


def at_work(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    """The verb and what Pulumi brings; not the embedded cluster's processes, which stay."""
    verb = psutil.Process(process.pid)
    cli = [each for each in verb.children() if each.name() == "pulumi"]
    return [verb, *cli, *(each for one in cli for each in one.children(recursive=True))]


def goes_on(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def locks(copy: Copy) -> list[Path]:
    return list((copy.state / "pulumi" / ".pulumi" / "locks").rglob("*.json"))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_a_signal_ends_an_up_in_order(
    copy: Copy, held: "subprocess.Popen[str]", number: int, code: int
) -> None:
    working = at_work(held)
    assert names(held) >= CLI
    # As a terminal does it: all that runs in its foreground gets it.
    os.killpg(held.pid, number)
    said, _ = held.communicate()
    assert held.returncode == code, said
    assert said.endswith(f"error: ended by {signal.Signals(number).name}\n")
    assert "What is made of dev stays: `make up STACK=dev` goes on from there" in said
    assert "Traceback" not in said, said
    eventually(lambda: not any(map(goes_on, working)))  # neither plugin nor program
    assert not locks(copy)


def test_the_next_up_goes_on_from_there(copy: Copy) -> None:
    done = copy.ops("up", "--stack", "dev")
    assert done.returncode == 0, done.stdout + done.stderr
    status = copy.ops("status", "--stack", "dev")
    assert f"Pulumi: stack dev in {(copy.state / 'pulumi').as_uri()}" in status.stderr
    assert "dev on the embedded cluster: ready, for " in status.stdout
    assert "is down after" in copy.ops("down", "--stack", "dev").stdout
    assert not copy.state.exists()


def test_after_a_kill_the_next_verb_says_whose_lock_it_takes_away(
    copy: Copy, held: "subprocess.Popen[str]"
) -> None:
    for each in at_work(held):
        each.kill()
    held.wait()
    kwok = processes.find(copy.state, "kwok")
    assert kwok is not None
    kwok.resume()
    assert locks(copy)
    done = copy.ops("down", "--stack", "dev")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "taking away the lock of " in done.stdout
    assert "that process is gone" in done.stdout
    assert "take up job/model-download: an update that was killed had made it" in done.stdout
    assert not copy.state.exists()
