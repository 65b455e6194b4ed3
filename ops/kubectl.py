"""The kubectl on PATH."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from embedded.paths import PROJECT
from targets.errors import UserError

_ATTEMPT = re.compile(r"[EWI]\d{4} ")
"""Begins a line of the client's own log, which tells each of its attempts."""


class KubectlError(UserError):
    """The cluster did not answer, or not with what was asked for."""


class NoKubectlError(KubectlError):
    """There is none on PATH."""


@dataclass(frozen=True)
class OwnKubectl:
    """kubectl for one cluster. command: the program, and the options that say which."""

    command: tuple[str, ...]

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """What it prints. Raises KubectlError with its own words."""
        return self.read(*arguments, stdin=stdin).decode()

    def read(self, *arguments: str, stdin: str = "") -> bytes:
        """The same as bytes."""
        done = subprocess.run(
            [*self.command, *arguments], cwd=PROJECT, input=stdin.encode(), capture_output=True, check=False
        )
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise KubectlError("\n".join(line for line in lines if not _ATTEMPT.match(line)))
        return done.stdout

    def impatient(self) -> "OwnKubectl":
        """One that takes no answer within 30 s for none: for questions, not for what is waited for."""
        return OwnKubectl((*self.command, "--request-timeout=30s"))


def on_path(options: Sequence[str]) -> OwnKubectl:
    """The kubectl on PATH. options: which cluster. Raises NoKubectlError."""
    program = shutil.which("kubectl")
    if program is None:
        raise NoKubectlError(
            "kubectl is not on PATH: install it (https://kubernetes.io/docs/tasks/tools), or forward the frontend's "
            "port yourself and give --url"
        )
    return OwnKubectl((program, *options))
