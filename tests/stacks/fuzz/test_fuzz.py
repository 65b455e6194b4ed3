"""A thousand stack files, most of them wrong: refused in sentences, or written whole; the command beside tries more."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import PROJECT, SOURCE
from tests.stacks.fuzz.damage import WHOLE
from tests.stacks.fuzz.grammar import TOKENS, Case, case
from tests.stacks.fuzz.hold import FILE, STACK, Counts, hold, project, refused_wrongly

SEED = 20261123
CASES = 1000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("fuzz"))


def test_each_is_refused_in_sentences_or_written_whole(folder: Path) -> None:
    counts = Counts()
    for number in range(CASES):
        hold(folder, case(SEED, number), counts)
    assert counts.wrong == {}, f"python -m tests.stacks.fuzz --seed {SEED} --first NUMBER --cases 1"
    assert counts.refused > CASES / 4, counts.line()
    assert counts.accepted > CASES / 10, counts.line()


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_wrong_as_a_whole(folder: Path, name: str) -> None:
    counts = Counts()
    hold(folder, Case(0, WHOLE[name]), counts)
    assert counts.wrong == {}
    assert counts.accepted == 0 or name == "JSON"


def test_a_seed_s_number_is_the_same_file_for_ever() -> None:
    assert case(1, 2) == case(1, 2)
    assert len({case(1, number).content for number in range(20)}) > 15


def test_an_error_that_is_for_nobody_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise SystemError("x")

    monkeypatch.setattr("tests.stacks.fuzz.hold.evaluate", fail)
    counts = Counts()
    hold(folder, case(SEED, 0), counts)
    assert counts.line().endswith("tracebacks 1, accepted but refused later 0")
    assert "SystemError: x" in counts.wrong[0]


def test_a_refusal_that_says_too_much_and_too_little_is_found(folder: Path) -> None:
    token = TOKENS["of AWS"]
    tried = Case(0, b"config: {target: [], cluster: {kind: existing, efa: 7}}", token)
    (folder / FILE).write_bytes(tried.content)
    said = "dynamo-gpt-oss:target: [] is no text\nnothing works\ndynamo-gpt-oss:cluster.efa: choose"
    wrong = "\n".join(refused_wrongly(folder, tried, f"{said}\n{token}", "printed"))
    for each in (
        "no key is named: 'nothing works'",
        f"shows '{token}'",
        "printed beside",
        "its value 7 is not named",
    ):
        assert each in wrong


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's code, so that a stack file can stand beside it."""
    folder = tmp_path_factory.mktemp("copied")
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(PROJECT / name, folder)
    for name in SOURCE:
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


OUTSIDE = {
    "an executable": (WHOLE["an executable"], 1),
    "a key that no terminal shows": (WHOLE["an escape of half a pair in a namespace"], 1),
    "several mistakes": (b"config: {target: x, cluster: {kind: y}, graph: [hf_QwErTyUiOpAsDfGhJkL]}", 3),
    "what is right": (b"config: {target: mocker-disagg-cpu, cluster: {kind: existing}}", 0),
}
"""Files that the command itself is given, and how many problems each has."""


@pytest.mark.parametrize("name", OUTSIDE)
def test_the_command_ends_as_the_function_does(copied: Path, name: str) -> None:
    content, problems = OUTSIDE[name]
    (copied / FILE).write_bytes(content)
    shutil.rmtree(copied / "out", ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "ops", "synth", "--stack", STACK],
        cwd=copied, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stderr.splitlines()
    assert all(line.startswith("error: ") for line in lines), done.stderr
    assert "QwErTyUiOp" not in done.stderr
    assert len(lines) >= problems
    assert done.returncode == (1 if problems else 0)
    assert bool(done.stdout) == (copied / "out").exists() == (not problems)
