"""`--json`: one object on standard output and nothing else, of every verb that nobody sits before."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from embedded.processes import Report
from ops import __main__ as ops
from ops import reap
from ops.deploy import deploy
from ops.stack.stack import Stack
from tests.project import PROJECT

OUTPUTS = {"namespace": "dynamo"}


def verbs() -> Iterator[tuple[str, Any]]:
    """Each verb's words and its command."""
    ops._add_verbs(None)
    root: Any = typer.main.get_command(ops.app)
    for name, command in root.commands.items():
        inner = getattr(command, "commands", {})
        yield from ((f"{name} {each}", found) for each, found in inner.items())
        yield name, command


def test_a_verb_without_it_is_named_in_the_documentation() -> None:
    page = (PROJECT / "docs" / "operations.md").read_text()
    named = page[page.index("These have no `--json`:") : page.index("A verb that cannot do its work")]
    without = {
        name for name, command in verbs() if not any("--json" in option.opts for option in command.params)
    }
    assert without == set(re.findall(r"`([a-z -]+)`", named)) - {"--json", "--format"}


def test_a_verb_with_it_has_its_fields_in_the_documentation() -> None:
    page = (PROJECT / "docs" / "operations.md").read_text()
    table = page[page.index("| verb | fields |") : page.index("The fields of `status`")]
    rows = re.findall(r"^\|([^|]+)\|", table, re.MULTILINE)
    told = {verb for row in rows for verb in re.findall(r"`([a-z -]+)`", row)}
    having = {name for name, command in verbs() if any("--json" in option.opts for option in command.params)}
    assert told | {"status"} == having


def run(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(ops.app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_up_says_its_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    def up(stack: Stack, report: Report, **_: object) -> dict[str, str]:
        report("create namespace/dynamo")
        return OUTPUTS

    monkeypatch.setattr(deploy, "up", up)
    for kept in ("ops.watch.record.Record.keep", "ops.rollout.observer.Observer.keep"):
        monkeypatch.setattr(kept, lambda *_: None)
    found = run("up", "--stack", "dev")
    assert found.pop("seconds") >= 0
    assert found == {"stack": "dev", "outputs": OUTPUTS}


def test_down_says_that_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploy, "down", lambda stack, report, **_: report("delete namespace/dynamo"))
    found = run("down", "--stack", "dev", "--embedded", "--yes")
    assert found.pop("seconds") >= 0
    assert found == {"stack": "dev", "down": True}


def test_a_dry_run_says_what_would_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.deploy.removal.preview", lambda *_: iter(["would remove pod/a", "1 to delete"]))
    found = run("down", "--stack", "dev", "--embedded", "--dry-run")
    assert found == {"stack": "dev", "down": False, "lines": ["would remove pod/a", "1 to delete"]}


def test_reap_says_what_was_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reap, "reap", lambda *_: iter(["dev: its driver was killed", "dev is down"]))
    assert run("reap") == {"lines": ["dev: its driver was killed", "dev is down"]}
