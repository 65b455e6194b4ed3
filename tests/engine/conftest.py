"""A real Pulumi CLI with a home, a backend and a project folder of the tests' own."""

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

import pytest
from pulumi import automation

PROJECT = Path(__file__).parents[2]
SHARED = ("Pulumi.yaml", "__main__.py", "components", "graphs", "stacks", "targets", ".venv")


@dataclass(frozen=True)
class Engine:
    """folder: the project's code, and stack files of the tests' own. environment: for the CLI."""

    folder: Path
    environment: dict[str, str]

    def stack(self, name: str) -> automation.Stack:
        """A stack whose file is in the folder."""
        options = automation.LocalWorkspaceOptions(env_vars=self.environment)
        return automation.create_or_select_stack(name, work_dir=str(self.folder), opts=options)


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Needs a CLI and the Kubernetes plugin, which cannot be made up here as the aws one can."""
    if shutil.which("pulumi") is None:
        _lacking("no Pulumi CLI on PATH")
    root = tmp_path_factory.mktemp("pulumi")
    plugins = root / "home" / "plugins"
    plugins.mkdir(parents=True)
    _kubernetes_plugin(plugins)
    _echo_plugin(plugins)
    folder = root / "project"
    folder.mkdir()
    for name in SHARED:
        (folder / name).symlink_to(PROJECT / name)
    backend = root / "backend"
    backend.mkdir()
    environment = {
        "PULUMI_HOME": str(root / "home"),
        "PULUMI_BACKEND_URL": backend.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_DISABLE_REGISTRY_RESOLVE": "true",
    }
    return Engine(folder, environment)


def _lacking(what: str) -> NoReturn:
    """Skips, or fails where $REQUIRE_PULUMI says that the engine must be there, as CI does."""
    if os.environ.get("REQUIRE_PULUMI"):
        pytest.fail(what)
    pytest.skip(what)


def _kubernetes_plugin(plugins: Path) -> None:
    name = f"resource-kubernetes-v{version('pulumi-kubernetes')}"
    home = Path(os.environ.get("PULUMI_HOME", Path.home() / ".pulumi"))
    if not (home / "plugins" / name).is_dir():
        _lacking(f"no plugin {name} in {home / 'plugins'}; `pulumi plugin install` gets it")
    (plugins / name).mkdir()  # the CLI does not see a folder that is a link
    for path in (home / "plugins" / name).iterdir():
        (plugins / name / path.name).symlink_to(path)


def _echo_plugin(plugins: Path) -> None:
    number = version("pulumi-aws")
    folder = plugins / f"resource-aws-v{number}"
    folder.mkdir()
    program = folder / "pulumi-resource-aws"
    echo = Path(__file__).with_name("echo_provider.py")
    program.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, str(echo), number])}\n")
    program.chmod(0o755)
