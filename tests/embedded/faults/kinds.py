"""The kinds of faults, each a round of its own: what is done to `up` and `down`, and what is left of it."""

import base64
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil
import trustme
import yaml

from embedded import processes
from ops.deploy import embedded
from tests.embedded.faults import proxy, remains
from tests.embedded.faults.remains import Remains
from tests.embedded.faults.stage import STACK, BrokenError, Stage, Verb
from tests.embedded.faults.traffic import traffic

Kind = Callable[[Stage, random.Random], tuple[int, Remains]]
"""Does the faults of one round; returns how many they were, and what is wrong after the plain verbs."""

_UP_SECONDS, _DOWN_SECONDS = 20.0, 12.0
"""Of whole verbs, before one was measured."""
_OTHER = "disagg-h100-vllm"


def kill(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """kill -9 of `up`, one to five times in a row, then of `down`: alone, or with the kubectl that it waits for."""
    killed = _killed(stage, draw, "up", _UP_SECONDS)
    wrong = stage.converge()
    killed += _killed(stage, draw, "down", _DOWN_SECONDS)
    if draw.random() < 0.3:
        wrong += stage.converge()  # an `up` goes on where a `down` broke off
    wrong += stage.leave()
    return killed, wrong


def _killed(stage: Stage, draw: random.Random, name: str, seconds: float) -> int:
    """How many of the verbs were at work at the moment that was drawn for their kill."""
    killed = 0
    for _ in range(draw.randint(1, 5)):
        moment, family = draw.random() * stage.took.get(name, seconds), draw.random() < 0.5
        verb = stage.begin(name)
        if verb.after(moment):
            verb.kill(family=family)
            killed += 1
        else:
            verb.end()
    return killed


def part(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """kill -9 of a daemon of the cluster, the API server or etcd mostly, during `up` or `down`; or of both."""
    names = draw.choice(
        [("kube-apiserver",), ("etcd",), ("etcd", "kube-apiserver"), ("kube-apiserver",), ("etcd",),
         (draw.choice(["kube-controller-manager", "kube-scheduler", "kwok", "dataplane"]),)]
    )  # fmt: skip
    return _parts_killed(stage, draw, names)


def operator(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """kill -9 of the operator's stand-in during `up` or `down`."""
    return _parts_killed(stage, draw, ("operator",))


def _parts_killed(stage: Stage, draw: random.Random, names: tuple[str, ...]) -> tuple[int, Remains]:
    during = draw.choice(["up", "down"])
    wrong = stage.converge() if during == "down" else Remains()
    moment = draw.random() * stage.took.get(during, _UP_SECONDS if during == "up" else _DOWN_SECONDS)
    verb = stage.begin(during)
    verb.after(moment)
    done = sum(_kill_daemon(stage, name, verb) for name in names)
    verb.end()
    if during == "up" or draw.random() < 0.5:
        wrong += stage.converge()
    wrong += stage.leave()
    return min(done, 1), wrong


def _kill_daemon(stage: Stage, name: str, verb: Verb) -> bool:
    """Once it is there; False if the verb ended before that."""
    while not verb.is_over():
        with suppress(psutil.NoSuchProcess):
            if found := processes.find(stage.state, name):
                found.kill()
                return True
        verb.after(0.05)
    return False


def slow(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """Half a second for every request of `up` and `down`."""
    return _through(stage, proxy.slow(draw), well=True)


def errors(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """The API answers requests of `up` and `down` with 429 and 500 now and then."""
    return _through(stage, proxy.failing(draw), well=False)


def _through(stage: Stage, behaviour: proxy.Behaviour, *, well: bool) -> tuple[int, Remains]:
    """well: the verbs end well by themselves."""
    _start(stage)
    wrong = Remains()
    with proxy.proxied(stage.state, behaviour) as kubeconfig:
        up = stage.begin("up", kubeconfig=kubeconfig)
        _end(up, well=well)
    wrong += stage.converge()
    with proxy.proxied(stage.state, behaviour) as kubeconfig:
        _end(stage.begin("down", kubeconfig=kubeconfig), well=well)
    wrong += stage.leave()
    return (1 if well else behaviour.failed), wrong


def _end(verb: Verb, *, well: bool) -> None:
    code = verb.end()
    if code and (well or len(verb.errors) > 1):
        raise BrokenError(f"{verb.name} ended with {code} and says: {' '.join(verb.errors)}")


def _start(stage: Stage) -> None:
    """The cluster and the data plane, which read their kubeconfig at their start: the fault is the verb's alone."""
    stack = remains.stack_of(STACK)
    embedded.start(stack, _say_nothing, stage.state)
    embedded.start_data_plane(stack, _say_nothing, stage.state)


def _say_nothing(_: str) -> None:
    pass


def credentials(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """An expired certificate or token in the kubeconfig, before `up` or while it works; or another token made."""
    _start(stage)
    kubeconfig = stage.state / "kubeconfig"
    config = yaml.safe_load(kubeconfig.read_text())
    user, token = config["users"][0]["user"], f"{draw.getrandbits(256):064x}"
    if draw.random() < 0.5:
        user["token"] = token
    else:
        _expire(user)
    when = draw.choice(["before", "meanwhile", "made"])
    if when == "meanwhile":
        verb = stage.begin("up")
        while "embedded cluster on" not in verb.said and not verb.is_over():
            verb.after(0.02)
        kubeconfig.write_text(yaml.safe_dump(config))
        if (
            not verb.end()
            or len(verb.errors) != 1
            or "nauthorized" not in verb.errors[0]
            or "create" in verb.said
        ):
            raise BrokenError(f"{verb.name} with expired credentials says: {verb.said}")
    elif when == "before":
        kubeconfig.write_text(yaml.safe_dump(config))
    else:
        (stage.state / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    wrong = stage.converge()
    wrong += stage.leave()
    return 1, wrong


def _expire(user: dict[str, str]) -> None:
    """A client certificate instead of the token, over for years."""
    issued = trustme.CA().issue_cert(common_name="admin", not_after=datetime(2020, 1, 1, tzinfo=UTC))
    del user["token"]
    for key, pem in (("certificate", issued.cert_chain_pems[0]), ("key", issued.private_key_pem)):
        user[f"client-{key}-data"] = base64.b64encode(pem.bytes()).decode()


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


def concurrent(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """Two `up` of one stack, or an `up` and a `down`, at once; or two stacks."""
    if draw.random() < 0.3:
        verbs = [stage.begin("up"), stage.begin("up", _OTHER)]
        for verb in verbs:
            _end(verb, well=True)
        wrong = stage.converge(STACK, _OTHER)
        verbs = [stage.begin("down"), stage.begin("down", _OTHER)]
        for verb in verbs:
            _end(verb, well=True)
        wrong += stage.leave(STACK, _OTHER)
        return 1, wrong
    first = stage.begin("up")
    first.after(draw.uniform(2.5, 5))
    second = stage.begin(draw.choice(["up", "down"]))
    for verb in (first, second):
        _end(verb, well=True)
    if f"waiting for another up or down of {STACK} (process {first.process.pid}" not in second.said:
        raise BrokenError(f"{second.name} does not say for whom it waits")
    wrong = stage.converge()
    wrong += stage.leave()
    return 1, wrong


def dynamo(stage: Stage, draw: random.Random) -> tuple[int, Remains]:
    """kill -9 of Dynamo's own processes, one by one, under traffic."""
    killed, wrong, saw = traffic(stage.folder, draw)
    stage.notes += [f"{seen}: {count}" for seen, count in sorted(saw.items())]
    return killed, wrong


KINDS: dict[str, Kind] = {
    each.__name__: each
    for each in (kill, part, operator, slow, errors, credentials, disk, concurrent, dynamo)
}
WEIGHTS = (10, 4, 1, 1, 1, 1, 2, 2, 1)


def why_not(name: str) -> str:
    """Why a kind cannot be done here; empty if it can."""
    return "it mounts a small disk, which takes root" if name == "disk" and os.geteuid() else ""
