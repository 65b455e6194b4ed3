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
class Traffic:
    """What was asked. commands: AIPerf's words by point. differences: from the published command, by flag."""

    shape: str
    load: Load
    points: Mapping[str, Load]
    commands: Mapping[str, tuple[str, ...]]
    differences: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What answered. versions: by name."""

    target: str
    topology: str
    graph: str
    versions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What it ran on. gpus: of the graph. nodes: that are paid for.

    usd_per_hour: of all nodes, None where unknown; price: where from.
    """

    gpu: str
    gpus: int
    instance: str
    nodes: int
    usd_per_hour: float | None
    price: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of a stack. Times are ISO 8601 in UTC.

    simulated: what of it is not real, empty where all is. problem: why it ended early, empty if it did not.
    """

    stack: str
    started: str
    traffic: Traffic
    subject: Subject
    hardware: Hardware
    simulated: str
    ended: str = ""
    problem: str = ""

    def write(self, folder: Path) -> None:
        """Write the run's file; readers never see half of it."""
        fields = asdict(self)
        for group in _GROUPS:
            fields |= fields.pop(group)
        write_whole(folder / RUN_FILE, json.dumps(fields, indent=1) + "\n")


_GROUPS: Mapping[str, Any] = {"traffic": Traffic, "subject": Subject, "hardware": Hardware}
"""Fields of a run whose own fields are those of the file: the file has no groups."""


def read(folder: Path) -> Run:
    """The run of a folder. Raises RunsError."""
    path = folder / RUN_FILE
    try:
        data: dict[str, Any] = json.loads(path.read_text())
        data["load"] = Load(**data["load"])
        data["points"] = {name: Load(**load) for name, load in data["points"].items()}
        data["commands"] = {name: tuple(words) for name, words in data["commands"].items()}
        for group, kind in _GROUPS.items():
            own = kind.__dataclass_fields__.keys() & data.keys()
            data[group] = kind(**{name: data.pop(name) for name in own})
        return Run(**data)
    except FileNotFoundError:
        raise RunsError(f"{folder} is no benchmark run: it has no {RUN_FILE}") from None
    except (ValueError, TypeError, LookupError) as error:
        raise RunsError(f"{path} is not what this version writes: {error}") from None
