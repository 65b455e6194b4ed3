"""The kinds of faults, each a round of its own: what is done to `up` and `down`, and what is left of it."""

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.embedded.faults import daemons, proxy, remains
from tests.embedded.faults.credentials import certificates, credentials
from tests.embedded.faults.remains import Remains
from tests.embedded.faults.stage import STACK, BrokenError, Stage, end
from tests.embedded.faults.together import concurrent, stacks
from tests.embedded.faults.traffic import traffic

Kind = Callable[[Stage, random.Random], tuple[int, Remains]]
"""Does the faults of one round; returns how many they were, and what is wrong after the plain verbs."""


def kill(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """kill -9 of `up`, one to five times in a row, then of `down`: alone, or with the kubectl that it waits for."""
    killed = _killed(stage, draw, "up")
    wrong = stage.converge()
    killed += _killed(stage, draw, "down")
    if draw.random() < 0.3:
        wrong += stage.converge()  # an `up` goes on where a `down` broke off
    wrong += stage.leave()
    return killed, wrong


def _killed(stage: Stage, draw: random.Random, name: str) -> int:
    """How many of the verbs were at work at the moment that was drawn for their kill."""
    killed = 0
    for _ in range(draw.randint(1, 5)):
        moment, family = stage.moment(draw, name), draw.random() < 0.5
        verb = stage.begin(name)
        if verb.after(moment):
            verb.kill(family=family)
            killed += 1
        else:
            verb.end()
    return killed


def slow(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """Half a second for every request of `up` and `down`."""
    return _through(stage, proxy.slow(draw), well=True)


def errors(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """The API answers requests of `up` and `down` with 429 and 500 now and then."""
    return _through(stage, proxy.failing(draw), well=False)


def _through(stage: Stage, behaviour: proxy.Behaviour, *, well: bool) -> tuple[int, Remains]:
    """well: the verbs end well by themselves."""
    stage.start()
    wrong = Remains()
    with proxy.proxied(stage.state, behaviour) as kubeconfig:
        up = stage.begin("up", kubeconfig=kubeconfig)
        end(up, well=well)
    wrong += stage.converge()
    with proxy.proxied(stage.state, behaviour) as kubeconfig:
        end(stage.begin("down", kubeconfig=kubeconfig), well=well)
    wrong += stage.leave()
    return int(well or behaviour.failed > 0), wrong


def disk(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """A disk that is full at some moment of `up`; then there is room again, or `down` ends what there is."""
    size = int(10 ** draw.uniform(4.5, 8.3))
    with _small_disk(stage.state.parent, size):
        verb = stage.begin("up")
        full = bool(verb.end())
        wrong = Remains()
        if draw.random() < 0.5 and full:
            wrong += _end_on_full_disk(stage)
        _resize(stage.state.parent, 4 << 30)
        wrong += stage.converge()
        wrong += stage.leave()
    return int(full), wrong


def _end_on_full_disk(stage: Stage) -> Remains:
    """By `down`; where the cluster cannot even be asked, by what that says."""
    verb = stage.begin("down")
    if verb.end() and "--force" not in verb.said:
        raise BrokenError(f"{verb.name} on a full disk says: {' '.join(verb.errors)}")
    stage.begin("down", STACK, "--force").end()
    return remains.after_down(stage.state, {})


@contextmanager
def _small_disk(folder: Path, size: int) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "faults", folder], check=True)
    try:
        yield
    finally:
        for process in remains.of_folder(folder / "state"):
            with suppress(psutil.Error):
                process.kill()
                process.wait(10)
        subprocess.run(["umount", "--lazy", folder], check=True)


def _resize(folder: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)


def dynamo(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """kill -9 of Dynamo's own processes, one by one, under traffic."""
    killed, wrong, saw = traffic(stage.folder, draw)
    stage.notes += [f"{seen}: {count}" for seen, count in sorted(saw.items())]
    return killed, wrong


KINDS: dict[str, Kind] = {
    **{
        each.__name__: each
        for each in (kill, slow, errors, credentials, certificates, disk, concurrent, stacks, dynamo)
    },
    **daemons.KINDS,
}
WEIGHTS = [{"kill": 10, "disk": 2, "concurrent": 2, "stacks": 2}.get(kind, 1) for kind in KINDS]


def why_not(name: str) -> str:
    """Why a kind cannot be done here; empty if it can."""
    return "it mounts a small disk, which takes root" if name == "disk" and os.geteuid() else ""
