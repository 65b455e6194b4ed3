"""Pulumi's CLI as a process: its lines as they come, its failure, and nobody who must listen."""

from pathlib import Path

import pytest
from pulumi import automation

from ops.pulumi.cli import Cli

TALKS = """#!/bin/sh
[ "$1" = version ] && echo v3.260.0 && exit
echo "$@"; echo "in $PWD with $GIVEN and $PULUMI_AUTOMATION_API"
echo "to stderr" >&2
exit ${CODE:-0}
"""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    program = tmp_path / "pulumi"
    program.write_text(TALKS)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Cli()


def test_lines_are_handed_on_as_they_come_and_kept(cli: Cli, tmp_path: Path) -> None:
    out: list[str] = []
    err: list[str] = []
    result = cli.run(["up", "--yes"], str(tmp_path), {"GIVEN": "this"}, out.append, err.append)
    assert out == ["--non-interactive up --yes", f"in {tmp_path} with this and true"]
    assert err == ["to stderr"]
    assert (result.stdout, result.stderr, result.code) == ("\n".join(out), "to stderr", 0)


def test_who_stopped_listening_does_not_end_the_update(cli: Cli, tmp_path: Path) -> None:
    def gone(_: str) -> None:
        raise BrokenPipeError

    result = cli.run(["up"], str(tmp_path), {}, gone, gone)
    assert (result.code, result.stderr) == (0, "to stderr")


def test_a_failure_has_all_that_was_said(cli: Cli, tmp_path: Path) -> None:
    with pytest.raises(automation.CommandError) as error:
        cli.run(["up"], str(tmp_path), {"CODE": "3"})
    assert "to stderr" in str(error.value)
    assert "--non-interactive up" in str(error.value)
