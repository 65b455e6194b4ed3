"""`python -m ops.locks`: the hashes of what verbs install at their first use, for `make lock`."""

import subprocess
import sys
from pathlib import Path

from embedded import build, dynamo
from embedded.packages import LOCKS
from embedded.paths import PROJECT
from facts.releases import Version
from facts.versions import DYNAMO
from measure import aiperf

_HOW = ("--quiet", "--universal", "--generate-hashes", "--python-version", "3.11")
WITH_DEPENDENCIES = {aiperf.LOCK: (aiperf.PACKAGE,)}
ALONE = {
    build.LOCK: (build.GO_PACKAGE,),
    dynamo.VOCABULARY_LOCK: (dynamo.VOCABULARY_PACKAGE,),
    **{
        dynamo.lock_of(release): dynamo.requirements(release)
        for release in DYNAMO
        if Version.parse(release).line not in dynamo.NOT_HERE
    },
}
"""Installed without their dependencies."""


def main() -> None:
    """Write every lock, and take away what Dynamo releases had that are no default any more.

    Raises CalledProcessError.
    """
    uv = Path(sys.executable).with_name("uv")
    for name, requirements in (WITH_DEPENDENCIES | ALONE).items():
        target = (LOCKS / f"{name}.txt").relative_to(PROJECT)
        print(f"write {target}", flush=True)
        how = (*_HOW, "--no-deps") if name in ALONE else _HOW
        command = [uv, "pip", "compile", *how, "-", "--output-file", target]
        subprocess.run(command, input="\n".join(requirements), text=True, cwd=PROJECT, check=True)
    for path in LOCKS.glob(f"{dynamo.lock_of('*')}.txt"):
        if path.stem not in ALONE:
            path.unlink()


if __name__ == "__main__":
    main()
