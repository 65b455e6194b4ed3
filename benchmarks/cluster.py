"""The embedded cluster: its start, `up` of the dev stack beside kubectl with the same objects, and the gate.

By the clock, since most is done by daemons; so each is beside kubectl's apply in the same run. In a state folder of its
own: what runs in `.embedded` is left alone.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from benchmarks.cpu_time import PROJECT, spend
from benchmarks.figures import Figure
from embedded import cluster
from ops.deploy import deploy, embedded
from ops.deploy.apply import GRAPH_KIND
from ops.evaluate import evaluate
from ops.stack.stack import Stack, find
from ops.synth import manifests
from targets.errors import UserError

STACK = "dev"
MOST_OF_KUBECTL = 2.0
MOST_SECONDS_OF_NO_CHANGE = 3.0
_BESIDE = "kubectl apply and wait"
_BESIDE_NO_CHANGE = "kubectl apply, no change"
_UP = """
import sys
from pathlib import Path
from ops.__main__ import collect_seldom
collect_seldom()
from ops.deploy import deploy
from ops.stack.stack import find
deploy.up(find(sys.argv[1]), print, state=Path(sys.argv[2]))
"""
"""`ops up`, with a state folder of its own."""


def figures(rounds: int) -> Iterator[Figure]:
    """Figures of all that; what cannot be run here is skipped, with the reason."""
    stack = find(STACK)
    with _state() as state:
        try:
            embedded.start(stack, _say, state)  # builds what is not built
            cluster.stop(_say, state)
        except UserError as error:
            yield Figure(name="the embedded cluster", skipped=f"skipped: {str(error).splitlines()[0]}")
            return
        start = _seconds(lambda: embedded.start(stack, _say, state))
        embedded.start_data_plane(stack, _say, state)  # installs what is not installed
        yield from _deployed(stack, state, rounds, start)


def _deployed(stack: Stack, state: Path, rounds: int, start: float) -> Iterator[Figure]:
    objects = [dict(resource.inputs) for resource in manifests(evaluate(PROJECT, stack.file))]
    text = yaml.safe_dump_all(objects)
    kubectl = _seconds(lambda: _apply_and_wait(text, stack, state))
    cluster.kubectl("delete", "--wait", "--filename=-", stdin=text, state=state)
    up = _seconds(lambda: spend(("-c", _UP, STACK, str(state))))
    unchanged = min(_seconds(lambda: spend(("-c", _UP, STACK, str(state)))) for _ in range(rounds))
    # Its own manager takes the fields in the first round; the others change nothing.
    applied = min(_seconds(lambda: _apply(text, state)) for _ in range(rounds + 1))
    outputs = deploy.up(stack, _say, state=state)
    gate = min(_seconds(lambda: _verify(str(outputs["liveEndpoint"]))) for _ in range(rounds))
    yield _figure("control plane start", start, kubectl, _BESIDE)
    yield _figure(f"up {STACK}", up, kubectl, _BESIDE, most=MOST_OF_KUBECTL)
    yield _figure(
        f"up {STACK}, no change",
        unchanged,
        applied,
        _BESIDE_NO_CHANGE,
        most=MOST_SECONDS_OF_NO_CHANGE,
        of_value=True,
    )
    yield _figure("gate", gate, kubectl, _BESIDE)


def _figure(
    name: str, value: float, floor: float, beside: str, *, most: float | None = None, of_value: bool = False
) -> Figure:
    return Figure(
        name=name, value=value, unit="s", ratio=value / floor, beside=beside, most=most, of_value=of_value
    )


def _apply_and_wait(text: str, stack: Stack, state: Path) -> None:
    _apply(text, state)
    namespace = f"--namespace={stack.namespace}"
    for what, condition in (("jobs", "Complete"), (GRAPH_KIND, "Ready")):
        cluster.kubectl(
            "wait", what, "--all", namespace, f"--for=condition={condition}", "--timeout=300s", state=state
        )


def _apply(text: str, state: Path) -> None:
    cluster.kubectl(
        *("apply", "--server-side", "--force-conflicts", "--field-manager=benchmark", "--filename=-"),
        stdin=text,
        state=state,
    )


def _verify(url: str) -> None:
    spend(("-m", "ops", "verify", "--url", url))


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _state() -> Iterator[Path]:
    """A folder whose cluster ends with it."""
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        state = Path(folder) / "state"
        try:
            yield state
        finally:
            cluster.stop(_say, state)
