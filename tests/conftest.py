"""Fixtures that tests of several folders share."""

import gc
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded.processes import Report
from tests.browser import browser
from tests.live import plane, shared_plane
from tests.project import PROJECT

# Where Python is told to keep no bytecode, every command that a test starts would compile the SDKs: half of its time.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(PROJECT / "out" / "bytecode"))

__all__ = ["browser", "plane", "progress", "shared_plane"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make test ARGS=--all-releases`, `pytest tests/engine/test_recovery.py --kills 20`."""
    parser.addoption("--all-releases", action="store_true", help="serve graphs with every Dynamo release")
    parser.addoption("--kills", type=int, default=2, help="how often deployments are killed at random")
    parser.addoption("--seed", type=int, help="of the moments of those kills; a new one if not said")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what only `--all-releases` runs."""
    if not config.getoption("--all-releases"):
        for item in items:
            if "every_release" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="runs with --all-releases"))


def pytest_collection_finish() -> None:
    """Spares the tests what SDKs do that no test sees."""
    resource: Any = sys.modules.get("pulumi.runtime.resource")
    if resource is not None:
        from pulumi.runtime.proto import source_pb2

        # Of each resource an engine is told every frame of the stack, and pytest's are many: half of a registration.
        assert callable(resource._get_stack_trace)
        resource._get_stack_trace = source_pb2.StackTrace
    # Their modules stay: every search for garbage among them takes a second.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def progress(pytestconfig: pytest.Config) -> Report:
    """Shows a line of progress at once, past pytest's capturing and from a worker of xdist as well."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def report(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(line, file=sys.stderr, flush=True)

    return report


@pytest.fixture
def moments(pytestconfig: pytest.Config, progress: Report) -> list[float]:
    """When to kill what is deployed: parts of the time that it takes, from 0 to 1."""
    seed = pytestconfig.getoption("--seed") or random.randrange(10**6)
    progress(f"moments of kills: --seed {seed}")
    chosen = random.Random(seed)
    return [chosen.random() for _ in range(pytestconfig.getoption("--kills"))]


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder for what has sockets in it, whose paths Linux limits to 107 bytes; pytest's own are long."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
