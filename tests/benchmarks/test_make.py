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
make.AGAIN_SECONDS = 0.1
sys.argv = ["benchmarks", "make"]
"""
HARD_OF_HEARING = """
import os, signal
from pathlib import Path
signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, signal.SIG_DFL))
Path(os.environ["SAID"], "listens").touch()
signal.pause()
signal.pause()
"""
"""It goes on after the first signal, as what a shell starts while that comes."""
IN_ITS_OWN_TIME = """
import os, signal, time
from pathlib import Path
said = Path(os.environ["SAID"])
signal.signal(signal.SIGINT, lambda *_: (said / "told").touch())
(said / "listens").touch()
until = time.monotonic() + 600
while time.monotonic() < until and not (said / "again").exists():
    time.sleep(0.01)
until = time.monotonic() + 3
while time.monotonic() < until:
    if (said / "down").exists():
        raise SystemExit
    time.sleep(0.01)
(said / "ended").touch()
"""
"""It notes that it ended, unless what it is part of was taken down before."""
SIGNAL_AT_THE_START = """
import os, signal, subprocess, time
popen = subprocess.Popen
def start(words, **options):
    process = popen(words, **options)
    if words == ["make", "up"]:
        while not os.path.exists(os.environ["SAID"] + "/up"):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
    return process
subprocess.Popen = start
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A project whose verbs say in files beside it that they ran; `test` fails."""
    toy = tmp_path / "toy"
    toy.mkdir()
    (toy / "Makefile").write_text(
        "up:\n\t@mkdir -p .embedded; touch $(SAID)/$@; $(DURING)\n"
        "down:\n\t@touch $(SAID)/$@\n"
        'test:\n\t@touch $(SAID)/$@; test "$(ARGS)"\n'
    )
    identity = ("-c", "user.name=toy", "-c", "user.email=toy@localhost")
    for words in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "--message=toy")):
        subprocess.run(["git", *words], cwd=toy, check=True)
    return toy


def measure(toy: Path, during: str = "", before: str = "") -> "subprocess.Popen[str]":
    """Starts the benchmark. during: what `make up` goes on with. before: Python that is run first."""
    folders = {name: toy.parent / name for name in ("said", "temporary")}
    for folder in folders.values():
        folder.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(PROJECT),
        "SAID": str(folders["said"]),
        "TMPDIR": str(folders["temporary"]),
        "DURING": during,
        "MAKEFLAGS": " -- ARGS=another",
    }
    return subprocess.Popen(
        [
            "sh",
            "-c",
            "trap '' INT; exec \"$@\"",
            "in the background",
            sys.executable,
            "-c",
            MEASURE + before + "command.main()",
        ],
        cwd=toy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_figures_are_kept_although_a_later_one_fails(toy: Path) -> None:
    process = measure(toy)
    _, errors = process.communicate(timeout=PATIENCE)
    kept = [json.loads(line) for line in (toy / "history.jsonl").read_text().splitlines()]
    assert [each["name"] for each in kept] == ["make up, nothing installed", "make up, no change"]
    assert process.returncode == 1
    assert errors.splitlines()[-1].startswith("error: Command '['make', 'test']'")
    assert {each.name for each in (toy.parent / "said").iterdir()} == {"up", "test", "down"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_takes_down_what_is_up(toy: Path, number: signal.Signals) -> None:
    process = measure(toy, "sleep 600")
    said = toy.parent / "said"
    eventually((said / "up").exists)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert {each.name for each in said.iterdir()} == {"up", "down"}
    assert list((toy.parent / "temporary").iterdir()) == []


def test_a_signal_that_was_not_heard_comes_again(toy: Path) -> None:
    program = toy.parent / "program"
    program.write_text(HARD_OF_HEARING)
    process = measure(toy, f"{sys.executable} {program}")
    eventually((toy.parent / "said" / "listens").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert (toy.parent / "said" / "down").exists()


def test_a_signal_while_make_starts_ends_it_too(toy: Path) -> None:
    process = measure(toy, "sleep 600", SIGNAL_AT_THE_START)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert (toy.parent / "said" / "down").exists()


def test_other_signals_do_not_take_down_what_make_still_works_on(toy: Path) -> None:
    program, said = toy.parent / "program", toy.parent / "said"
    program.write_text(IN_ITS_OWN_TIME)
    process = measure(toy, f"{sys.executable} {program}")
    eventually((said / "listens").exists)
    process.send_signal(signal.SIGTERM)
    eventually((said / "told").exists)
    for number in (signal.SIGINT, signal.SIGHUP):
        process.send_signal(number)
    (said / "again").touch()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert {each.name for each in said.iterdir()} == {"up", "listens", "told", "again", "ended", "down"}


def test_signals_that_come_together_end_make_first(toy: Path) -> None:
    program, said = toy.parent / "program", toy.parent / "said"
    program.write_text(IN_ITS_OWN_TIME)
    process = measure(toy, f"{sys.executable} {program}")
    eventually((said / "listens").exists)
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGCONT):
        process.send_signal(number)
    eventually((said / "told").exists)
    (said / "again").touch()
    process.communicate(timeout=PATIENCE)
    assert process.returncode in (128 + signal.SIGTERM, 128 + signal.SIGHUP)
    assert {each.name for each in said.iterdir()} == {"up", "listens", "told", "again", "ended", "down"}
