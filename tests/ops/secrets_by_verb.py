"""`python -m tests.ops.secrets_by_verb`: what of a token is found after each verb and each way of ending, as a table.

A stack that has a token and a key as a Pulumi CLI hands them out, opened. The cluster is a kubectl that keeps what it
is told; nothing else may hold them afterwards, in whatever they are written.

Not looked at: what `up` keeps of a rollout, and files that a verb with a Pulumi CLI has while it runs, which a kill -9
leaves in the temporary folder.
"""

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner

from manifests.kubectl import items
from ops import __main__ as ops
from ops.pulumi.stack_file import StackFile
from stacks.plan import resolve
from stacks.settings import ConfigError, Settings
from targets.errors import UserError
from tests.project import PROJECT

MARKER = "Mark/er+of ours?0123456789~abcDEF"
"""With what base64, URLs and JSON write otherwise; it looks like no token, so that it is hidden for where it stands."""
_SECTIONS = {"huggingFace": {"token": MARKER}, "ngc": {"apiKey": MARKER}}
_STACK = ("--stack", "dev")
VERBS: dict[str, tuple[str, ...]] = {
    "synth": (*_STACK, "--out", "OUT"),
    "synth --format=yaml": _STACK,
    "synth --format=json": _STACK,
    "synth --check": _STACK,
    "cost": _STACK,
    "timeline": (*_STACK, "--out", "OUT"),
    "report": (*_STACK, "--out", "OUT/report.html"),
    "doctor": _STACK,
    "leftovers": _STACK,
    "let-in": _STACK,
    "status": _STACK,
    "verify": _STACK,
    "chat": (*_STACK, "--once=hi"),
    "logs decode": _STACK,
    "open metrics": (*_STACK, "--no-browser"),
    "up": (*_STACK, "--yes"),
    "down": (*_STACK, "--yes"),
    "bench command": _STACK,
}
ELSEWHERE = {
    "init": "reads no stack's secrets",
    "bench compare": "reads measured runs alone",
    "bench gate": "reads measured runs alone",
    "bench": "is `up`, `verify` and `down`, which are here, and AIPerf, which gets a URL",
    "bench run": "as `bench`",
    "reap": "asks leases and clocks, and what is due goes by `down`",
    "diff": "compares what `synth` writes in processes of its own: tests/ops/diff/test_diff.py",
}
"""Verbs that are not run here, and why."""
ENDINGS: dict[str, Callable[[object], BaseException] | None] = {
    "as it ends": None,
    "refusal": lambda read: ConfigError(f"x: {read}"),
    "exception": lambda read: RuntimeError(f"{read!r}"),
    "Ctrl-C": lambda _: KeyboardInterrupt(),
}
"""What is raised once the secrets were read; the first two say all that was read, as a careless message might.

Of `up` it is raised by the kubectl that was told the Secret.
"""
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "kill -9": signal.SIGKILL}
"""What ends a verb in a process of its own: one that writes text once it did, another as above."""
WRITING = ("synth", "report")
EXIT_CODES = {"SIGINT": 130, "SIGTERM": 143, "kill -9": -9}


def _signal(number: signal.Signals, _: object = None) -> BaseException:
    os.kill(os.getpid(), number)
    raise AssertionError("the process should have ended")


_RAISED = ENDINGS | {name: partial(_signal, number) for name, number in SIGNALS.items()}


class Kubectl:
    """Keeps what it is told of an empty cluster, and fails once that was the Secret."""

    def __init__(self, ending: str = "as it ends") -> None:
        self.told: list[str] = []
        self._error = _RAISED[ending] or UserError

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        assert not found_in(" ".join(arguments)), "everybody sees arguments in the list of processes"
        self.told.append(stdin)
        if self.has_the_secret():
            raise self._error("the API server is gone")
        if arguments[0] != "get":
            return stdin
        several = "," in arguments[1] or any(each.startswith("--selector") for each in arguments)
        return json.dumps({"items": []}) if several else ""

    def has_the_secret(self) -> bool:
        """Whether it was told the marker, in base64 within a Secret and nowhere else."""
        objects = [obj for each in self.told if found_in(each) for obj in items(each)]
        telling = [obj for obj in objects if found_in(json.dumps(obj))]
        assert all(obj["kind"] == "Secret" and not found_in(json.dumps(obj["metadata"])) for obj in telling)
        return bool(telling)


def forms(secret: str) -> dict[str, str]:
    """A secret as it may be written: plain, in base64 at any place of a text, in a URL, in JSON."""
    found = {
        "plain": secret,
        "in a URL": urllib.parse.quote(secret, safe=""),
        "in a form": urllib.parse.quote_plus(secret),
    }
    found["in JSON"] = json.dumps(secret).replace("/", "\\/")[1:-1]
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + secret.encode()).decode()
        # Without the characters that its neighbours change.
        found[f"in base64, {before}"] = whole[4 if before else 0 : -4]
        found[f"in base64 of URLs, {before}"] = (
            found[f"in base64, {before}"].replace("+", "-").replace("/", "_")
        )
    return found


def found_in(text: str) -> list[str]:
    """In which forms the marker is in a text."""
    return [form for form, written in forms(MARKER).items() if written in text]


def _with_secrets(project: Path, stack: str) -> StackFile:
    file = StackFile.load(project, stack)
    config = {**file.config, **{f"{file.project}:{key}": json.dumps(each) for key, each in _SECTIONS.items()}}
    return replace(file, config=config, secret_keys=frozenset(f"{file.project}:{key}" for key in _SECTIONS))


@contextlib.contextmanager
def _pretended(folder: Path, verb: str, ending: str, kubectl: Kubectl) -> Iterator[None]:
    made = _RAISED[ending]
    once_written = ending in SIGNALS and verb in WRITING
    once_read = not once_written and verb != "up"
    write = Path.write_text

    def end(settings: Settings) -> Any:
        if made is not None and once_read:
            raise made(settings)
        return resolve(settings)

    def end_once_written(path: Path, text: str, *options: Any, **named: Any) -> int:
        written = write(path, text, *options, **named)
        if made is not None and once_written and path.is_relative_to(folder / "out"):
            raise made(text)
        return written

    with contextlib.ExitStack() as patches:
        for where, what in (
            ("ops.pulumi.stack_config.load", _with_secrets),
            ("stacks.load.resolve", end),
            ("pathlib.Path.write_text", end_once_written),
            ("ops.deploy.embedded.start", lambda *_: kubectl),
            ("ops.deploy.embedded.start_data_plane", lambda *_: None),
            ("ops.deploy.preflight.check", lambda *_: None),
            ("ops.checks.existing_cluster.check", lambda *_: None),
            ("ops.deploy.room.check", lambda *_: None),
            ("ops.deploy.embedded.add_cpu_node", lambda *_: None),
            ("ops.pulumi.automation.available", lambda: False),
            ("ops.rollout.observer.Observer.keep", lambda *_: None),
            ("ops.deploy.stack_lock.CACHE", folder / "cache"),
            ("tempfile.tempdir", str(folder)),
        ):
            patches.enter_context(patch(where, what))
        yield


def run(verb: str, ending: str, folder: Path) -> tuple[list[str], Kubectl]:
    """Runs it here; returns where of the marker what is found, and what the cluster was told."""
    kubectl = Kubectl(ending)
    words = _words(verb, folder)
    with _pretended(folder, verb, ending, kubectl):
        done = CliRunner().invoke(ops.app, words)
    assert ending == "as it ends" or done.exit_code, "what was to end it was never raised"
    said = "".join(traceback.format_exception(*done.exc_info)) if done.exc_info else ""
    places = {
        "stdout and stderr": done.output,
        "traceback": said,
        "environment": json.dumps(dict(os.environ)),
    }
    return _found(places, folder), kubectl


def _words(verb: str, folder: Path) -> list[str]:
    """The verb's command line, once its modules and folders are there."""
    (folder / "cache").mkdir()
    ops._add_verbs(None)
    return [each.replace("OUT", str(folder / "out")) for each in (*verb.split(), *VERBS[verb])]


def run_apart(verb: str, ending: str, folder: Path, before: str = "") -> tuple[list[str], int]:
    """Runs it in a process that a signal ends; returns where of the marker what is found, and the exit code.

    before: what that process does first.
    """
    program = f"{before}\nfrom tests.ops import secrets_by_verb\nsecrets_by_verb.until_it_ends()"
    command = [sys.executable, "-u", "-c", program, verb, ending, str(folder)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    return _found({"stdout": done.stdout, "stderr": done.stderr}, folder), done.returncode


def until_it_ends() -> None:
    """Runs in this process the verb, with the ending and in the folder, that its arguments name."""
    verb, ending, folder = sys.argv[1:]
    sys.argv[1:] = _words(verb, Path(folder))
    with _pretended(Path(folder), verb, ending, Kubectl(ending)):
        ops.main()


def _found(places: Mapping[str, str], folder: Path) -> list[str]:
    tops = (folder, PROJECT / "out", PROJECT / ".leases")
    files = {str(path): _read(path) for top in tops for path in _files(top)}
    return [f"{place}: {form}" for place, text in {**places, **files}.items() for form in found_in(text)]


def _files(top: Path) -> list[Path]:
    """All but bytecode, in which this module's own marker is."""
    return [path for path in top.rglob("*") if path.is_file() and path.suffix != ".pyc"]


def _read(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


def main() -> None:
    """Prints the table."""
    print(f"| verb | {' | '.join(_RAISED)} |\n|---|{'---|' * len(_RAISED)}")
    for verb in VERBS:
        cells = [_cell(verb, ending) for ending in _RAISED]
        print(f"| `{verb}` | {' | '.join(cells)} |", flush=True)


def _cell(verb: str, ending: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        if ending in SIGNALS:
            found, code = run_apart(verb, ending, Path(folder))
            if code != EXIT_CODES[ending]:
                found.append(f"it ended by itself, with {code}")
            told = verb == "up"  # the moment of the signal
        else:
            found, kubectl = run(verb, ending, Path(folder))
            told = kubectl.has_the_secret()
    return ", ".join(found) or ("the Secret alone" if told else "nowhere")


if __name__ == "__main__":
    main()
