"""The smoke workflow's own steps, in their order, on an embedded cluster: all but those that ask AWS alone."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from embedded import cluster
from embedded.paths import PROJECT

WORKFLOW = PROJECT / ".github" / "workflows" / "smoke.yml"
OF_AWS = {"setup", "doctor", "leftovers"}
"""Setup is what runs this test; the other two look at an account, and have tests against a simulated one."""


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """What the workflow checks out, and so a cluster of its own."""
    folder = tmp_path / "checkout"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns(".*", "tests", "out"))
    yield folder
    cluster.stop(print, folder / ".embedded")


def test_every_step_passes_and_leaves_nothing(checkout: Path) -> None:
    job = yaml.safe_load(WORKFLOW.read_text())["jobs"]["smoke"]
    verbs = [
        verb
        for step in job["steps"]
        if step.get("run", "").startswith("make ") and (verb := step["run"].split()[1]) not in OF_AWS
    ]
    # `make test` hands its own words on: options would have the inner make name folders. Nor has everybody a CLI.
    environment = {
        **os.environ,
        "STACK": job["env"]["STACK"],
        "MAKEFLAGS": "",
        "ARGS": "--embedded",
        "PATH": os.pathsep.join(
            folder
            for folder in os.environ["PATH"].split(os.pathsep)
            if not (Path(folder) / "pulumi").exists()
        ),
    }
    for verb in verbs:
        done = subprocess.run(
            ["make", "--assume-old=setup", f"RUN={sys.executable}", verb],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        assert done.returncode == 0, f"make {verb}\n{done.stdout}\n{done.stderr}"
    assert verbs == ["up", "verify", "down"]
    assert not cluster.is_running(checkout / ".embedded")
