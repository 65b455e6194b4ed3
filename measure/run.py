"""One benchmark run: its folder, and what was measured where, as `run.json` in it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from embedded.files import write_whole
from targets.errors import UserError

RUN_FILE = "run.json"
RAW = "raw"
"""Folder of AIPerf's own files, a folder for each point."""


class RunsError(UserError):
    """Runs cannot be used as asked; the message says which and why."""


class Regression(UserError):
    """A run is worse than its baseline; a line each."""


class BenchmarkError(UserError):
    """A stack could not be measured; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """Traffic of one point, in tokens and requests."""

    isl: int
    osl: int
    concurrency: int
    requests: int
    warmup: int
    dataset_entries: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """Inputs, versions, target, hardware and price of a run. Times are ISO 8601 in UTC.

    gpus: of the graph. nodes: that are paid for. usd_per_hour: of all nodes, None where unknown; price: where from.
    simulated: what of it is not real, empty where all is. commands: AIPerf's words by point. problem: why it ended
    early, empty if it did not. versions: by name.
    """

    stack: str
    started: str
    shape: str
    load: Load
    points: Mapping[str, Load]
    target: str
    topology: str
    graph: str
    gpu: str
    gpus: int
    instance: str
    nodes: int
    usd_per_hour: float | None
    price: str
    simulated: str
    versions: Mapping[str, str]
    commands: Mapping[str, tuple[str, ...]]
    differences: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""
    problem: str = ""

    def write(self, folder: Path) -> None:
        """Write the run's file; readers never see half of it."""
        write_whole(folder / RUN_FILE, json.dumps(asdict(self), indent=1) + "\n")


def read(folder: Path) -> Run:
    """The run of a folder. Raises RunsError."""
    path = folder / RUN_FILE
    try:
        data: dict[str, Any] = json.loads(path.read_text())
        loads = {name: Load(**load) for name, load in data.pop("points").items()}
        commands = {name: tuple(words) for name, words in data.pop("commands").items()}
        return Run(**data | {"load": Load(**data["load"])}, points=loads, commands=commands)
    except FileNotFoundError:
        raise RunsError(f"{folder} is no benchmark run: it has no {RUN_FILE}") from None
    except (ValueError, TypeError, LookupError) as error:
        raise RunsError(f"{path} is not what this version writes: {error}") from None
