"""`python -m ops.locks`: the hashes of what verbs install at their first use, for `make lock`."""

import subprocess
import sys
from pathlib import Path

from embedded import build, dynamo
from embedded.packages import lock
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
        dynamo.lock_of(release): dynamo.packages(release)
        for release in DYNAMO
        if Version.parse(release).line not in dynamo.NOT_HERE
    },
}
"""Installed without their dependencies."""


def main() -> None:
    """Write every lock. Raises CalledProcessError."""
    for name, requirements in (WITH_DEPENDENCIES | ALONE).items():
        alone = ["--no-deps"] if name in ALONE else []
        target = lock(name).relative_to(PROJECT)
        subprocess.run(
            [
                Path(sys.executable).with_name("uv"),
                "pip",
                "compile",
                *_HOW,
                *alone,
                "-",
                "--output-file",
                target,
            ],
            input="\n".join(requirements),
            text=True,
            cwd=PROJECT,
            check=True,
        )


if __name__ == "__main__":
    main()
