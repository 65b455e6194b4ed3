"""Every command of the README and of docs/ that is one of ours, of Pulumi's or of the AWS CLI's: it parses."""

import importlib.util
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
import typer
from botocore import xform_name

from ops import __main__ as ops
from ops.pulumi.stack_file import stacks
from tests.project import PROJECT

PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted((PROJECT / "docs").glob("*.md"))]
STACKS = stacks(PROJECT)
PULUMI = {
    "config set", "import", "login", "package add", "preview", "refresh", "stack export", "stack init",
    "stack output", "up",
}  # fmt: skip
"""Commands of Pulumi's CLI that the pages use; the CLI itself is not asked."""
OF_THE_AWS_CLI_ALONE = {("sso", "login")}
"""Commands that no service's model has."""


def lines(page: Path) -> Iterator[str]:
    """Commands of the page's blocks that are for a shell, without comments and with continuations joined."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        if language in ("", "sh"):
            yield from block.replace("\\\n", " ").splitlines()


def commands(*programs: str) -> list[list[str]]:
    """Words of every command of those programs; variables before it are left out."""
    found = []
    for line in (line for page in PAGES for line in lines(page)):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue  # a piece of output
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words = words[1:]
        if words and words[0] in programs:
            found.append(words)
    return found


def test_every_file_that_contributors_are_sent_to_is_there() -> None:
    named = re.findall(r"`([\w.-]+/[\w./-]+)`", (PROJECT / "CONTRIBUTING.md").read_text())
    assert len(named) >= 15
    assert {name for name in named if not (PROJECT / name).exists()} == set()


def shown(words: list[str]) -> str:
    return " ".join(words)


@pytest.fixture(scope="module")
def verbs() -> Any:
    """The command line of `python -m ops`, all verbs loaded."""
    ops._add_verbs(None)
    return typer.main.get_command(ops.app)


def parse(verbs: Any, words: list[str]) -> None:
    """Raises a usage error for what the verb does not take."""
    command = verbs.commands[words[0]]
    command.make_context(words[0], words[1:]).close()


@pytest.mark.parametrize("words", commands("make"), ids=shown)
def test_make(words: list[str], verbs: Any) -> None:
    said = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    assert said.get("STACK", "dev") in STACKS
    dry = subprocess.run(
        ["make", "--dry-run", "--assume-old=setup", *words[1:]],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    ran = shlex.split(dry.stdout.splitlines()[-1])
    if ran[1:3] == ["-m", "ops"]:
        parse(verbs, ran[3:])


@pytest.mark.parametrize("words", commands("python", ".venv/bin/python"), ids=shown)
def test_verbs(words: list[str], verbs: Any) -> None:
    if words[1:3] == ["-m", "ops"]:
        parse(verbs, words[3:])
    else:
        assert words[1] == "-m"
        assert importlib.util.find_spec(words[2])
        assert not [word for word in words[3:] if "/" in word and not (PROJECT / word).exists()]


@pytest.mark.parametrize("words", commands("pulumi"), ids=shown)
def test_pulumi(words: list[str]) -> None:
    assert any(shown(words[1:]).startswith(known) for known in PULUMI)
    if "--stack" in words:
        assert words[words.index("--stack") + 1] in STACKS


@pytest.mark.parametrize("words", commands("aws"), ids=shown)
def test_aws(words: list[str]) -> None:
    service, operation, *rest = words[1:]
    if (service, operation) in OF_THE_AWS_CLI_ALONE:
        return
    model = botocore.session.get_session().get_service_model(service)
    (found,) = [name for name in model.operation_names if xform_name(name, "-") == operation]
    shape = model.operation_model(found).input_shape
    options = {f"--{xform_name(member, '-')}" for member in shape.members} | {"--region", "--profile"}
    assert {word for word in rest if word.startswith("--")} <= options


def test_the_ten_lines_before_the_first_up_are_all_parsed() -> None:
    text = (PROJECT / "README.md").read_text()
    block = text.split("and these ten:")[1].split("```")[1]
    words = [shlex.split(line, comments=True) for line in block.strip().splitlines()]
    assert len(words) == 10
    assert all(each in commands("make", "pulumi", "aws") for each in words)
