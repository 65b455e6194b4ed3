"""Every key of a stack's file stands in a page of docs/."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from docs.generate import configuration as table
from facts.engines import Role
from stacks.sections.benchmark import BenchmarkSettings, OwnShape
from stacks.sections.cluster import CLUSTER_KINDS
from stacks.settings import Settings
from targets.knobs import AdditionalGraph, GraphKnobs
from targets.strict import Strict
from tests.project import PROJECT

DOCS = PROJECT / "docs"
PAGES = {page.stem: page.read_text() for page in DOCS.glob("*.md")}


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The settings models that a key's type holds, in lists, maps and choices too."""
    if isinstance(annotation, type) and issubclass(annotation, Strict):
        yield annotation
    for part in get_args(annotation):
        yield from models(part)


def keys(model: type[BaseModel]) -> Iterator[str]:
    """Keys below a section, those of sections below it after a dot; of these themselves only what they hold."""
    for field in model.model_fields.values():
        below = [f".{key}" for inner in models(field.annotation) for key in keys(inner)]
        yield from (f"{field.alias}{key}" for key in below or [""])


def written(key: str) -> str:
    """A key as pages write it: one of a graph without `graph`, of any role below `<role>`."""
    for prefix in ("graph.", "graphs."):
        for role in Role:
            if key.startswith(f"{prefix}{role}."):
                return key.replace(f"{prefix}{role}.", "<role>.")
    own = {
        f"graphs.{field.alias}"
        for name, field in AdditionalGraph.model_fields.items()
        if name in AdditionalGraph.__annotations__
    }
    if key in own:
        return key.replace("graphs.", "graphs[].")
    for before, after in (
        ("graph.", ""), ("graphs.", ""), ("pools.", "pools[]."), (".tolerations.", ".tolerations[]."),
        (".shapes.", ".shapes.NAME."), (".rules.", ".rules.NAME."),
    ):  # fmt: skip
        key = key.replace(before, after, 1) if before.startswith(".") or key.startswith(before) else key
    return key


CLUSTER = {f"cluster.{key}" for model in CLUSTER_KINDS.values() for key in keys(model)}
ALL = sorted({*keys(Settings), *CLUSTER})


@pytest.mark.parametrize("key", ALL)
def test_every_key_has_a_page(key: str) -> None:
    page = PAGES["targets" if key.startswith(("graph.", "graphs.")) else "configuration"]
    assert f"\n| `{written(key)}` | " in page


def test_the_keys_are_all_keys() -> None:
    below = {key.split(".")[0] for key in ALL}
    assert below == {field.alias for field in Settings.model_fields.values()}
    known = {
        "pool.instanceType",
        "pools.capacity.ultraserver",
        "cluster.vpc.privateSubnets",
        "graph.image.build.gitRef",
    }
    assert known <= {*ALL}
    assert {f"graph.{role}.replicas" for role in GraphKnobs.model_fields if role in {*Role}} <= {*ALL}


def test_the_page_of_keys_is_what_the_settings_say() -> None:
    assert table.PAGE.read_text() == table.document(), "run `python -m docs.generate.configuration`"


BENCHMARK = [field.alias for model in (BenchmarkSettings, OwnShape) for field in model.model_fields.values()]


@pytest.mark.parametrize("key", [key for key in BENCHMARK if key != "shapes"])
def test_every_key_of_the_benchmark_is_explained_in_its_page(key: str) -> None:
    assert f"`{key}`" in PAGES["benchmarks"]


@pytest.mark.parametrize(
    "key",
    [
        *(
            "pool.instanceType",
            "pool.efaDevices",
            "capacity.ultraserver",
            "cluster.publicAccessFrom",
            "cluster.admins",
        ),
        *("cluster.efa", "platform.leaderWorkerSet"),
    ],
)
def test_what_a_cluster_or_pool_may_need_is_explained_where_they_are(key: str) -> None:
    assert f"`{key}`" in PAGES["operations"]
