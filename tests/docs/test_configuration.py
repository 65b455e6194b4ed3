"""Every key of a stack's file stands in a page of docs/."""

from collections.abc import Iterator
from typing import Any, get_args

import jsonschema
import pytest
import yaml
from pydantic import BaseModel

from docs.generate import configuration as table
from facts.engines import Role
from stacks.sections.benchmark import BenchmarkSettings, OwnShape
from stacks.sections.cluster import CLUSTER_KINDS
from stacks.settings import Settings
from targets.knobs import GraphKnobs
from targets.strict import Strict
from tests.project import PROJECT

DOCS = PROJECT / "docs"
EXAMPLES = DOCS / "generate" / "examples.yaml"
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
    """A key as the page writes it: of any graph below `graph`, of any role below `<role>`."""
    for prefix in ("graph.", "graphs."):
        for role in Role:
            if key.startswith(f"{prefix}{role}."):
                return key.replace(f"{prefix}{role}.", "graph.<role>.")
    if key.removeprefix("graphs.") in table.ADDITIONAL:
        return key.replace("graphs.", "graphs[].")
    for before, after in (
        ("graphs.", "graph."), ("pools.", "pools[]."), (".tolerations.", ".tolerations[]."),
        (".shapes.", ".shapes.NAME."), (".rules.", ".rules.NAME."),
    ):  # fmt: skip
        key = key.replace(before, after, 1) if before.startswith(".") or key.startswith(before) else key
    return key


CLUSTER = {f"cluster.{key}" for model in CLUSTER_KINDS.values() for key in keys(model)}
ALL = sorted({*keys(Settings), *CLUSTER})


@pytest.mark.parametrize("key", ALL)
def test_every_key_has_a_page(key: str) -> None:
    assert f"\n| `{written(key)}` | " in PAGES["configuration"]


def decrypted(example: Any) -> Any:
    """As the program gets it: a secret is text."""
    if not isinstance(example, dict):
        return example
    return "secret" if "secure" in example else {key: decrypted(each) for key, each in example.items()}


@pytest.mark.parametrize("row", [*table.rows()], ids=lambda row: row.key)
def test_every_key_has_a_meaning_and_an_example_that_is_allowed(row: table.Row) -> None:
    key, allowed, _, example, meaning = row.cells
    if "keys below it" not in allowed:
        assert meaning.endswith("."), key
        assert example, key
    if row.example is not None:
        schema = jsonschema.Draft202012Validator(dict(row.schema))
        assert [error.message for error in schema.iter_errors(decrypted(row.example))] == []


def test_every_example_is_of_a_key() -> None:
    known = {row.key for row in table.rows()}
    assert {*yaml.safe_load(EXAMPLES.read_text())} - known == set()


def test_what_is_said_of_texts_is_of_a_key() -> None:
    said = yaml.safe_load((DOCS / "generate" / "allowed.yaml").read_text())
    rows = [*table.rows()]
    assert {*said["keys"]} - {row.key for row in rows} == set()


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
