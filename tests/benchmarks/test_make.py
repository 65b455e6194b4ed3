"""What a user waits for, in a toy project: figures as they come, failures, and signals."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import PROJECT
from tests.waiting import PATIENCE, eventually

MEASURE = """
import sys
from pathlib import Path
from benchmarks import __main__ as command, make
command.PROJECT = make.PROJECT = Path.cwd()
command.HISTORY = Path.cwd() / "history.jsonl"
sys.argv = ["benchmarks", "make"]
command.main()
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A project whose verbs say in files beside it that they ran; `up` sleeps if told so, `test` fails."""
    toy = tmp_path / "toy"
    toy.mkdir()
    (toy / "Makefile").write_text(
        "up:\n\t@mkdir -p .embedded; touch $(SAID)/$@; sleep $(SECONDS)\n"
        "down:\n\t@touch $(SAID)/$@\n"
        'test:\n\t@touch $(SAID)/$@; test "$(ARGS)"\n'
    )
    identity = ("-c", "user.name=toy", "-c", "user.email=toy@localhost")
    for words in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "--message=toy")):
        subprocess.run(["git", *words], cwd=toy, check=True)
    return toy


def measure(toy: Path, seconds: int) -> "subprocess.Popen[str]":
    folders = {name: toy.parent / name for name in ("said", "temporary")}
    for folder in folders.values():
        folder.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(PROJECT),
        "SAID": str(folders["said"]),
        "TMPDIR": str(folders["temporary"]),
        "SECONDS": str(seconds),
        "MAKEFLAGS": " -- ARGS=another",
    }
    return subprocess.Popen(
        ["sh", "-c", "trap '' INT; exec \"$@\"", "in the background", sys.executable, "-c", MEASURE],
        cwd=toy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_figures_are_kept_although_a_later_one_fails(toy: Path) -> None:
    process = measure(toy, 0)
    _, errors = process.communicate(timeout=PATIENCE)
    kept = [json.loads(line) for line in (toy / "history.jsonl").read_text().splitlines()]
    assert [each["name"] for each in kept] == ["make up, nothing installed", "make up, no change"]
    assert process.returncode == 1
    assert errors.splitlines()[-1].startswith("error: Command '['make', 'test']'")
    assert {each.name for each in (toy.parent / "said").iterdir()} == {"up", "test", "down"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_takes_down_what_is_up(toy: Path, number: signal.Signals) -> None:
    process = measure(toy, 600)
    said = toy.parent / "said"
    eventually((said / "up").exists)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert {each.name for each in said.iterdir()} == {"up", "down"}
    assert list((toy.parent / "temporary").iterdir()) == []
