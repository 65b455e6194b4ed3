"""kill -9 of the cluster's daemons, alone or all at once, while `up` works and while `down` does."""

import random
import time
from contextlib import suppress
from functools import partial

import psutil

from embedded import processes
from tests.embedded.faults.remains import DAEMONS, Remains
from tests.embedded.faults.stage import Stage, Verb

_NAMES = {
    "etcd": ("etcd",),
    "api-server": ("kube-apiserver",),
    "controllers": ("kube-controller-manager",),
    "scheduler": ("kube-scheduler",),
    "kwok": ("kwok",),
    "operator": ("operator",),
    "dataplane": ("dataplane",),
    "daemons": tuple(sorted(DAEMONS)),
}


def _kill(stage: Stage, draw: random.Random, *, names: tuple[str, ...]) -> tuple[int, Remains]:
    """Of these daemons, in one moment of `up`, and in one of `down`."""
    killed = _kill_during("up", stage, draw, names)
    wrong = stage.converge()
    killed += _kill_during("down", stage, draw, names)
    if draw.random() < 0.5:
        wrong += stage.converge()
    wrong += stage.leave()
    return killed, wrong


def _kill_during(name: str, stage: Stage, draw: random.Random, names: tuple[str, ...]) -> int:
    """1 if one of them was there to be killed before the verb ended, as it may end in whatever way."""
    verb = stage.begin(name)
    verb.after(stage.moment(draw, name))
    killed = [_kill_daemon(stage, each, verb) for each in names]
    verb.end()
    return int(any(killed))


def _kill_daemon(stage: Stage, name: str, verb: Verb) -> bool:
    """Once it is there; False if the verb ended before that."""
    while not verb.is_over():
        with suppress(psutil.NoSuchProcess):
            if found := processes.find(stage.state, name):
                found.kill()
                return True
        time.sleep(0.05)
    return False


KINDS = {kind: partial(_kill, names=names) for kind, names in _NAMES.items()}
