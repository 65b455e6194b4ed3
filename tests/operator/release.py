"""Built Dynamo operators, one folder a release below $DYNAMO_OPERATORS; docs/architecture.md says how to lay it out."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

VARIABLE = "DYNAMO_OPERATORS"
NAMESPACE = "dynamo-system"
"""Of the platform, as in every stack that says nothing else."""
_LINE = re.compile(r"\d+\.\d+")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Object = dict[str, Any]


@dataclass(frozen=True)
class Release:
    """One release line's operator: `operator`, `crds/*.yaml` and `chart.yaml` in a folder called for example `1.4`."""

    folder: Path

    @property
    def line(self) -> str:
        return self.folder.name

    @property
    def program(self) -> Path:
        return self.folder / "operator"

    def definitions(self) -> list[Object]:
        """The CustomResourceDefinitions, in the files' order."""
        return [one for path in sorted((self.folder / "crds").glob("*.yaml")) for one in _documents(path)]

    def definition(self) -> Object:
        """Of DynamoGraphDeployment."""
        names = {one["spec"]["names"]["kind"]: one for one in self.definitions()}
        return names["DynamoGraphDeployment"]

    def chart(self) -> list[Object]:
        """What the platform's chart renders, without what its other charts bring."""
        return list(_documents(self.folder / "chart.yaml"))


def releases() -> list[Release]:
    """Every release that $DYNAMO_OPERATORS holds, oldest first; none where the variable is not set."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return []
    found = [Release(path) for path in Path(folder).iterdir() if _LINE.fullmatch(path.name)]
    return sorted(found, key=lambda one: [*map(int, one.line.split("."))])


def _documents(path: Path) -> Iterator[Object]:
    with path.open() as text:
        yield from filter(None, yaml.load_all(text, _Loader))
