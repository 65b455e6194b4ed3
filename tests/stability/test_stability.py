"""What may change in a stack when one thing of its config does, and the page that says so.

`REGENERATE=1 pytest tests/stability` writes golden file and page anew, to be looked at in the diff.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from ops.diff.changes import Action, ResourceChange
from ops.diff.compare import resource_changes
from ops.diff.consequences import NODE_GROUP
from ops.fingerprint import KEY_VARIABLE
from stacks.load import parse
from stacks.rollout import settings
from tests.golden_files import compare, compare_block
from tests.project import PROJECT
from tests.stability.changes import CHANGES, Change, synth

PAGE = PROJECT / "docs" / "operations.md"
BEGIN, END = "<!-- what changes: tests/stability writes this table -->\n", "<!-- end of the table -->"
MADE = (Action.CREATE, Action.REPLACE, Action.DELETE)
_OURS = ("dynamo-gpt-oss:", "pulumi:")
"""Components and what is Pulumi's own: nothing of a cluster or of AWS."""


@pytest.fixture(autouse=True)
def distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another secret is another value, as in `ops diff`."""
    monkeypatch.setenv(KEY_VARIABLE, "00" * 32)


@cache
def found(change: Change) -> tuple[ResourceChange, ...]:
    decided = settings(parse(change.after, {"huggingFace"}))
    return tuple(resource_changes(synth(change.before), synth(change.after, change.renamed), decided))


def seen(change: Change) -> list[ResourceChange]:
    """What changes on the cluster and on AWS, but for what only the engine does differently."""
    return [c for c in found(change) if not c.type.startswith(_OURS) and c.action is not Action.HANDLE]


def nodes(change: Change) -> set[str]:
    """Kinds of nodes that run and restart, or are made anew."""
    groups = [each for each in found(change) if each.type == NODE_GROUP and each.downtime]
    return {"GPU" if " GPU " in each.downtime else "CPU" for each in groups}


every_change = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.what)


@every_change
def test_nothing_else_is_made_anew(change: Change) -> None:
    assert {each.component for each in seen(change) if each.action in MADE} == change.anew


@every_change
def test_no_other_nodes_restart(change: Change) -> None:
    assert nodes(change) == change.nodes


@every_change
def test_what_a_hook_would_refuse_is_told(change: Change) -> None:
    assert any(each.refused for each in found(change)) is change.refused


def test_the_exact_changes_are_as_in_the_golden_file() -> None:
    compare("stability.txt", "\n".join(exact()))


def exact() -> Iterator[str]:
    for change in CHANGES:
        yield f"{change.what}: {change.key}"
        for each in sorted(found(change), key=lambda each: (each.action, each.type, each.name)):
            fields = ", ".join(sorted({field.path for field in each.fields}))
            yield f"  {each.action} {each.type} {each.name}{': ' if fields else ''}{fields}"


def test_the_page_is_current() -> None:
    compare_block(PAGE, BEGIN, END, "\n".join(page()) + "\n")


def page() -> Iterator[str]:
    yield "| change | what is made anew, new or gone | what changes in place | what it costs |"
    yield "|---|---|---|---|"
    for change in CHANGES:
        made = _listed(each for each in seen(change) if each.action in MADE)
        kept = _listed(each for each in seen(change) if each.action is Action.UPDATE)
        tags = [
            each.downtime for each in found(change) if each.type == "pulumi:providers:aws" and each.downtime
        ]
        place = "; ".join([*kept, *tags])
        costs = [each.downtime for each in seen(change) if each.downtime]
        refused = ["`up` refuses it: `pool.active: false` first"] if change.refused else []
        cells = (f"{change.what} ({change.key})", "; ".join(made), place, "; ".join(refused + costs))
        yield f"| {' | '.join(cell or '–' for cell in cells)} |"


def _listed(changes: Iterable[ResourceChange]) -> list[str]:
    """Kinds with their number where there are several, by what happens: `+` new, `-` gone, `±` anew."""
    sign = {Action.CREATE: "+", Action.DELETE: "-", Action.REPLACE: "±", Action.UPDATE: ""}
    counted: dict[tuple[str, str], int] = defaultdict(int)
    for each in changes:
        counted[sign[each.action], each.type.rpartition(":")[2]] += 1
    return [
        f"{mark}{f'{count} × ' if count > 1 else ''}{kind}" for (mark, kind), count in sorted(counted.items())
    ]
