"""The kubectl on PATH."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace

from embedded.paths import PROJECT
from targets.errors import UserError

_ATTEMPT = re.compile(r"[EWI]\d{4} ")
"""Begins a line of the client's own log, which tells each of its attempts."""
_REFUSED = ("(Unauthorized)", "provide credentials")
"""Of what kubectl says where a token or certificate has expired, or is another cluster's."""


class KubectlError(UserError):
    """The cluster did not answer, or not with what was asked for."""


class NoKubectlError(KubectlError):
    """There is none on PATH."""


class RefusedError(KubectlError):
    """The cluster answers, and knows no such user."""


@dataclass(frozen=True)
class OwnKubectl:
    """kubectl for one cluster.

    command: the program, and the options that say which. keys: of the stack file that say so, for people.
    """

    command: tuple[str, ...]
    keys: str = ""

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
            words = "\n".join(line for line in lines if not _ATTEMPT.match(line))
            if self.keys and any(each in words for each in _REFUSED):
                raise RefusedError(
                    f"the cluster refuses the credentials of {self.keys}: renew them there, or correct these keys "
                    f"({words})"
                )
            raise KubectlError(words)
        return done.stdout

    def impatient(self) -> "OwnKubectl":
        """One that takes no answer within 30 s for none: for questions, not for what is waited for."""
        return replace(self, command=(*self.command, "--request-timeout=30s"))


def on_path(options: Sequence[str], keys: str = "") -> OwnKubectl:
    """The kubectl on PATH. options: which cluster. keys: as above. Raises NoKubectlError."""
    program = shutil.which("kubectl")
    if program is None:
        raise NoKubectlError(
            "kubectl is not on PATH: install it (https://kubernetes.io/docs/tasks/tools), or forward the frontend's "
            "port yourself and give --url"
        )
    return OwnKubectl((program, *options), keys)
