"""The package on a real engine: its schema, and the examples.

Simulated: the aws plugin echoes what it is asked for (echo_provider.py); cluster and graphs are the embedded cluster's.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi import automation

from embedded import cluster, endpoints, processes
from facts.weights import MODEL_ID
from package.provider import VERSION
from tests.engine.conftest import Engine
from tests.project import PROJECT

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]
EXAMPLES = PROJECT / "examples"


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def preview(engine: Engine, package: Path, folder: Path, **more: str) -> str:
    """What the CLI says that a program would make."""
    words = ("pulumi", "preview", "--non-interactive", "--stack", folder.parent.name)
    command(engine, package, "pulumi", "stack", "init", folder.parent.name, cwd=folder)
    return command(engine, package, *words, cwd=folder, AWS_REGION="us-east-2", **more)


def made(preview: str) -> set[str]:
    """Type and name of every resource that a preview shows."""
    return set(re.findall(r"^ *\+ +(\S+ \S+) create", preview, re.MULTILINE))


OURS = {
    "dynamo-gpt-oss:index:GpuNodePool gpus",
    "dynamo-gpt-oss:index:ModelCache weights",
    "dynamo-gpt-oss:index:InferenceGraph chat",
    "aws:eks:NodeGroup gpus",
    "kubernetes:batch/v1:Job model-download",
    "kubernetes:nvidia.com/v1beta1:DynamoGraphDeployment chat",
}


def test_the_cli_reads_the_kept_schema(engine: Engine, package: Path) -> None:
    said = json.loads(command(engine, package, "pulumi", "package", "get-schema", str(package)))
    assert said == json.loads((PROJECT / "components" / "schema.json").read_text())


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An embedded cluster of its own, with real Dynamo processes behind its simulated pods."""
    folder = tmp_path_factory.mktemp("cluster") / "state"
    options = ("--kubeconfig", str(folder / "kubeconfig"), "--state", str(folder))
    serve = (sys.executable, "-m", "embedded.dataplane", *options)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": "1"}
    try:
        assert cluster.start(print, folder, "v1beta1") == folder / "kubeconfig"
        processes.start(folder, processes.Daemon("dataplane", serve), environment)
        yield folder
    finally:
        cluster.stop(print, folder)


def graphs(state: Path) -> list[dict[str, Any]]:
    listed = cluster.kubectl(
        "get", "dynamographdeployments", "--all-namespaces", "--output=json", state=state
    )
    items: list[dict[str, Any]] = json.loads(listed)["items"]
    return items


def answer(url: str) -> str:
    """What the graph says to a greeting."""
    asked = {"model": MODEL_ID, "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 64}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(asked).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        message: dict[str, str] = json.load(response)["choices"][0]["message"]
    return message.get("content") or message.get("reasoning_content") or ""


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
    assert answer(endpoints.wait_for(state, namespace, "chat", 180))
    assert set(stack.up().summary.resource_changes or {}) == {"same"}
    stack.destroy()
    assert graphs(state) == []


def test_the_python_example_previews(offline: Engine, package: Path, tmp_path: Path) -> None:
    folder = example(package, "python", tmp_path / "python")
    generated = sdk(offline, package, "python", tmp_path / "sdk")
    # As pip would install it.
    metadata = generated / f"pulumi_dynamo_gpt_oss-{VERSION}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: pulumi_dynamo_gpt_oss\nVersion: {VERSION}\n")
    path = os.pathsep.join([str(generated), *sys.path])
    found = made(preview(offline, package, folder, PYTHONPATH=path))
    assert found >= {*OURS, "kubernetes:core/v1:Namespace team"}


@pytest.fixture(scope="module")
def typescript(offline: Engine, package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with its SDK and packages, as `pulumi package add` leaves it."""
    host("nodejs")
    if shutil.which("npm") is None:
        pytest.skip("no npm on PATH")
    root = tmp_path_factory.mktemp("typescript")
    folder = example(package, "typescript", root / "chat")
    sdk(offline, package, "nodejs", root / "sdk").rename(folder / "sdk")
    (folder / "sdks").mkdir()
    (folder / "sdk").rename(folder / "sdks" / "dynamo-gpt-oss")
    words = ("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot install the example's packages: {done.stderr[-500:]}")
    return folder


def test_the_typescript_example_type_checks(offline: Engine, package: Path, typescript: Path) -> None:
    command(offline, package, "npx", "tsc", "--project", ".", cwd=typescript)
    program = typescript / "index.ts"
    whole = program.read_text()
    program.write_text(whole.replace("P5_48xlarge", "P5_49xlarge"))
    try:
        with pytest.raises(AssertionError):
            command(offline, package, "npx", "tsc", "--project", ".", cwd=typescript)
    finally:
        program.write_text(whole)


def test_the_typescript_example_previews(
    offline: Engine, package: Path, typescript: Path, tmp_path: Path
) -> None:
    outputs = dict.fromkeys(("namespace", "cluster", "vpcId", "securityGroupId", "subnet"), "theirs")

    def describe() -> None:
        for name, value in outputs.items():
            pulumi.export(name, value)

    options = automation.LocalWorkspaceOptions(work_dir=str(tmp_path), env_vars=offline.environment)
    name = automation.fully_qualified_stack_name("organization", "eks", "prod")
    automation.create_or_select_stack(name, project_name="eks", program=describe, opts=options).up()
    said = preview(offline, package, typescript)
    assert made(said) >= OURS
    assert "http://gpt-oss-disagg-frontend.theirs.svc:8000" in said
