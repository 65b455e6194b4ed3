"""The package on a real engine: its schema, and the examples.

Simulated: the aws plugin echoes what it is asked for (echo_provider.py); cluster and graphs are the embedded cluster's.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pulumi import automation

from embedded import cluster
from tests.engine.conftest import Engine
from tests.project import PROJECT

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]
EXAMPLES = PROJECT / "examples"


@pytest.fixture(scope="session")
def package(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that programs name, with this project's Python in the place of one that the CLI would fill by pip."""
    folder = tmp_path_factory.mktemp("package") / "components"
    (folder / "venv" / "bin").mkdir(parents=True)
    for name in ("PulumiPlugin.yaml", "__main__.py"):
        (folder / name).symlink_to(PROJECT / "components" / name)
    let_be = 'case "$1 $2 $3" in "-m venv "*|"-m pip install") exit 0;; esac'
    for name in ("python", "python3"):
        python = folder / "venv" / "bin" / name
        python.write_text(f'#!/bin/sh\n{let_be}\nexec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)
    (folder / "venv" / "pyvenv.cfg").touch()
    return folder


def command(engine: Engine, package: Path, *words: str, cwd: Path | None = None, **more: str) -> str:
    """What a command prints."""
    environment = {**os.environ, **engine.environment, **more}
    environment["PULUMI_PYTHON_CMD"] = str(package / "venv" / "bin" / "python")
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def host(language: str) -> None:
    """Skips where the CLI has no host of the language."""
    if shutil.which(f"pulumi-language-{language}") is None:
        pytest.skip(f"no pulumi-language-{language} on PATH")


def example(package: Path, language: str, folder: Path) -> Path:
    """A copy whose package is the folder above."""
    shutil.copytree(EXAMPLES / language, folder)
    project = folder / "Pulumi.yaml"
    project.write_text(project.read_text().replace("../../components", str(package)))
    return folder


def sdk(engine: Engine, package: Path, language: str, folder: Path) -> Path:
    schema = str(PROJECT / "components" / "schema.json")
    generate = ("pulumi", "package", "gen-sdk", schema, "--language", language, "--out", str(folder))
    command(engine, package, *generate)
    return folder / language


def test_the_cli_reads_the_kept_schema(engine: Engine, package: Path) -> None:
    said = json.loads(command(engine, package, "pulumi", "package", "get-schema", str(package)))
    assert said == json.loads((PROJECT / "components" / "schema.json").read_text())


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An embedded cluster of its own."""
    folder = tmp_path_factory.mktemp("cluster") / "state"
    try:
        cluster.start(print, folder, "v1beta1")
        yield folder
    finally:
        cluster.stop(print, folder)


def graphs(state: Path) -> list[dict[str, Any]]:
    listed = cluster.kubectl(
        "get", "dynamographdeployments", "--all-namespaces", "--output=json", state=state
    )
    items: list[dict[str, Any]] = json.loads(listed)["items"]
    return items


def test_the_yaml_example_goes_up_and_comes_down(
    engine: Engine, package: Path, state: Path, tmp_path: Path
) -> None:
    host("yaml")
    folder = example(package, "yaml", tmp_path / "yaml")
    environment = {
        **engine.environment,
        "KUBECONFIG": str(cluster.kubeconfig(state)),
        "PULUMI_PYTHON_CMD": str(package / "venv" / "bin" / "python"),
    }
    options = automation.LocalWorkspaceOptions(env_vars=environment)
    stack = automation.create_or_select_stack("theirs", work_dir=str(folder), opts=options)
    endpoint = stack.up().outputs["endpoint"].value
    (graph,) = graphs(state)
    namespace = graph["metadata"]["namespace"]
    assert namespace.startswith("team-"), "the name that Pulumi chose for another resource"
    assert endpoint == f"http://chat-frontend.{namespace}.svc:8000"
    assert graph["status"]["state"] == "successful"
    assert set(stack.up().summary.resource_changes or {}) == {"same"}
    stack.destroy()
    assert graphs(state) == []
