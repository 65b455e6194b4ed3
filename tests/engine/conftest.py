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

from tests.project import PROGRAM, PROJECT

SHARED = ("Pulumi.yaml", "__main__.py", *PROGRAM, ".venv")


@dataclass(frozen=True)
class Engine:
    """folder: the project's code, and stack files of the tests' own. environment: for the CLI."""

    folder: Path
    environment: dict[str, str]

    def copy(self, folder: Path) -> "Engine":
        """The same with another, empty folder, and a backend in it."""
        link_project(folder)
        backend = folder / "backend"
        backend.mkdir()
        return Engine(folder, self.environment | {"PULUMI_BACKEND_URL": backend.as_uri()})

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
    kubernetes_plugin(plugins)
    _echo_plugin(plugins)
    folder = root / "project"
    folder.mkdir()
    link_project(folder)
    (root / "backend").mkdir()
    return Engine(folder, _environment(root))


def link_project(folder: Path) -> None:
    """The project's code beside stack files of the tests' own."""
    for name in SHARED:
        (folder / name).symlink_to(PROJECT / name)


def _lacking(what: str) -> NoReturn:
    """Skips, or fails where $REQUIRE_PULUMI says that the engine must be there, as CI does."""
    if os.environ.get("REQUIRE_PULUMI"):
        pytest.fail(what)
    pytest.skip(what)


def kubernetes_plugin(plugins: Path) -> None:
    """Put the plugin that this machine has into another home of Pulumi's."""
    name = f"resource-kubernetes-v{version('pulumi-kubernetes')}"
    home = Path(os.environ.get("PULUMI_HOME", Path.home() / ".pulumi"))
    if not (home / "plugins" / name).is_dir():
        _lacking(f"no plugin {name} in {home / 'plugins'}; `pulumi plugin install` gets it")
    (plugins / name).mkdir()  # the CLI does not see a folder that is a link
    for path in (home / "plugins" / name).iterdir():
        (plugins / name / path.name).symlink_to(path)


def _echo_plugin(plugins: Path, package: str = "aws") -> None:
    number = version(f"pulumi-{package}")
    folder = plugins / f"resource-{package}-v{number}"
    folder.mkdir(parents=True)
    program = folder / f"pulumi-resource-{package}"
    command = [sys.executable, "-m", "tests.engine.echo_provider", number]
    program.write_text(f"#!/bin/sh\nPYTHONPATH={shlex.quote(str(PROJECT))} exec {shlex.join(command)}\n")
    program.chmod(0o755)


@pytest.fixture(scope="session")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An engine that reaches nothing: its plugins only echo. Needs a CLI alone."""
    if shutil.which("pulumi") is None:
        _lacking("no Pulumi CLI on PATH")
    return offline_engine(tmp_path_factory.mktemp("offline"), PROJECT)


def offline_engine(root: Path, project: Path) -> Engine:
    """The same in a folder, for the code of a project."""
    for package in ("aws", "kubernetes"):
        _echo_plugin(root / "home" / "plugins", package)
    (root / "project").mkdir()
    for name in SHARED:
        (root / "project" / name).symlink_to((PROJECT if name == ".venv" else project) / name)
    (root / "backend").mkdir()
    return Engine(root / "project", _environment(root))


def _environment(root: Path) -> dict[str, str]:
    return {
        "PULUMI_HOME": str(root / "home"),
        "PULUMI_BACKEND_URL": (root / "backend").as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_DISABLE_REGISTRY_RESOLVE": "true",
    }
