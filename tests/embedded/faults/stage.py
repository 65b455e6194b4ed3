"""A state folder of its own, and verbs on it: each a process, as users start them."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from embedded.paths import PROJECT
from ops.deploy import embedded
from tests.embedded.faults import remains
from tests.embedded.faults.remains import Remains
from tests.embedded.faults.verb import KUBECONFIG

STACK = "dev"
_VERB_SECONDS = {"up": 20.0, "down": 12.0}
"""Of whole verbs, before one was measured."""
_LONGEST_SECONDS = 600.0
_SETTLE_SECONDS = 60.0


class BrokenError(Exception):
    """A verb did what none may do."""


@dataclass(frozen=True)
class Verb:
    """A verb at work. log: what it says."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path
    began: float

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def errors(self) -> list[str]:
        """What it says last where it fails."""
        return [line for line in self.said.splitlines() if line.startswith("error: ")]

    def is_over(self) -> bool:
        return self.process.poll() is not None

    def after(self, seconds: float) -> bool:
        """Wait so long since it began; whether it is still at work then."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.0, self.began + seconds - time.monotonic()))
        return not self.is_over()

    def kill(self, *, family: bool) -> None:
        """kill -9. family: with the kubectl that it waits for."""
        if family:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Its exit code. Raises BrokenError for one that hangs, or fails without a word of why."""
        try:
            code = self.process.wait(_LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill(family=True)
            raise BrokenError(f"{self.name} hangs") from None
        if "Traceback" in self.said or (code and not self.errors):
            raise BrokenError(f"{self.name} ended with {code} and no sentence")
        return code


@dataclass
class Stage:
    """took: seconds of a whole verb, by its name. notes: what is worth to know of a round that is well, too."""

    folder: Path
    state: Path
    took: dict[str, float]
    verbs: list[Verb] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def moment(self, draw: random.Random, name: str) -> float:
        """Seconds from a verb's beginning, within what a whole one took last."""
        return draw.random() * self.took.get(name, _VERB_SECONDS[name])

    def begin(self, name: str, stack: str = STACK, *options: str, kubeconfig: Path | None = None) -> Verb:
        """The verb, as a process in a session of its own."""
        where = () if stack == STACK else ("--embedded",)
        command = (sys.executable, "-m", "tests.embedded.faults.verb", str(self.state), name)
        log = self.folder / f"{len(self.verbs)}-{name}-{stack}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, f"--stack={stack}", *where, *options], cwd=PROJECT, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, KUBECONFIG: str(kubeconfig or "")},
            )  # fmt: skip
        self.verbs.append(Verb(f"{name} of {stack}", process, log, time.monotonic()))
        return self.verbs[-1]

    def plain(self, name: str, stack: str = STACK) -> Verb:
        """The verb as anybody runs it after a fault. Raises BrokenError unless it ends well."""
        verb = self.begin(name, stack)
        if code := verb.end():
            raise BrokenError(f"plain {verb.name} ended with {code}: {' '.join(verb.errors)}")
        self.took[name] = time.monotonic() - verb.began
        return verb

    def start(self) -> None:
        """The cluster and the data plane, which read their kubeconfig at their start: the fault is the verb's alone."""
        stack = remains.stack_of(STACK)
        embedded.start(stack, _say_nothing, self.state)
        embedded.start_data_plane(stack, _say_nothing, self.state)

    def whole(self, *stacks: str) -> Remains:
        """What is wrong if these are what is up, without another verb."""
        return _settled(
            lambda: remains.after_up(stacks, self.state) if stacks else remains.after_down(self.state, {})
        )

    def converge(self, *stacks: str) -> Remains:
        """What is wrong after a plain `up` of each."""
        names = stacks or (STACK,)
        for stack in names:
            self.plain("up", stack)
        return self.whole(*names)

    def leave(self, *stacks: str) -> Remains:
        """What is left after a plain `down` of each."""
        before = remains.ports([each.pid for each in remains.of_folder(self.state)])
        for stack in stacks or (STACK,):
            self.plain("down", stack)
        return _settled(lambda: remains.after_down(self.state, before))

    def protocol(self) -> Iterator[str]:
        """What each verb said."""
        for verb in self.verbs:
            yield f"--- {verb.log.name}: {verb.process.poll()}"
            yield from verb.said.splitlines()


def end(verb: Verb, *, well: bool) -> None:
    """Wait for its end. well: it may not fail. Raises BrokenError, also where it fails in more than a sentence."""
    code = verb.end()
    if code and (well or len(verb.errors) > 1):
        raise BrokenError(f"{verb.name} ended with {code} and says: {' '.join(verb.errors)}")


def _say_nothing(_: str) -> None:
    pass


def _settled(look: Callable[[], Remains]) -> Remains:
    """What is still wrong once nothing changes it: daemons start again what ended, the kernel ends what was killed."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


@contextmanager
def stage(took: dict[str, float]) -> Iterator[Stage]:
    """A stage of which nothing stays, whatever happened on it."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        place = Path(folder)
        (place / "disk").mkdir()
        made = Stage(place, place / "disk" / "state", took)
        try:
            yield made
        finally:
            ours = [each.process.pid for each in made.verbs if not each.is_over()]
            for process in [*map(psutil.Process, ours), *remains.of_folder(made.state)]:
                with suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(remains.of_folder(made.state), timeout=_SETTLE_SECONDS)
