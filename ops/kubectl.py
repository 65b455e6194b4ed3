"""The kubectl on PATH."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace

from embedded.paths import PROJECT
from manifests.kubectl import own_words
from targets.errors import UserError

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
            words = own_words(done.stderr.decode(errors="replace"))
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
