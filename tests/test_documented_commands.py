"""Every command of the README and of docs/ parses: ours, Pulumi's, the AWS CLI's; every setting in them is allowed."""

import importlib.util
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import jsonschema
import pytest
import typer
import yaml
from botocore import xform_name

from facts.weights import MODEL_ID
from ops import __main__ as ops
from ops.pulumi.stack_file import stacks
from tests.project import PROJECT

PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((PROJECT / "docs").glob("*.md")),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CURL = re.compile(r"^curl [^'\n]*(?:'[^']*'[^'\n]*)+$", re.MULTILINE)
"""A call whose text in quotes goes over lines."""
A_STACK = {"…", "S", "NAME", "mine"}
"""What stands for a stack of the reader's."""
STACKS = stacks(PROJECT)
PULUMI = {
    "cancel", "config set", "destroy", "import", "login", "package add", "package get-schema", "plugin install",
    "preview", "refresh", "stack export", "stack import", "stack init", "stack output", "stack rename", "up",
}  # fmt: skip
"""Commands of Pulumi's CLI that the pages use; the CLI itself is not asked."""
OF_THE_AWS_CLI_ALONE = {("sso", "login"), ("ecr", "get-login-password")}
"""Commands that no service's model has."""


def lines(page: Path) -> Iterator[str]:
    """Commands of the page's blocks that are for a shell, without comments and with continuations joined."""
    for language, block in FENCE.findall(page.read_text()):
        if language in ("", "sh"):
            joined = block.replace("\\\n", " ")
            one_line = CURL.sub(lambda found: found[0].replace("\n", " "), joined)
            yield from one_line.splitlines()


def inline(page: Path) -> Iterator[str]:
    """What stands in code within the page's sentences and tables, lines joined."""
    for code in re.findall(r"`([^`]+)`", FENCE.sub("", page.read_text())):
        yield " ".join(code.replace("\\|", "|").split())


def commands(*programs: str) -> list[list[str]]:
    """Words of every command of those programs; variables before it are left out."""
    found = []
    for line in (line for page in PAGES for line in (*lines(page), *inline(page))):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue  # a piece of output
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words = words[1:]
        if len(words) > 1 and words[0] in programs and words not in found:
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
    assert said.get("STACK", "dev") in {*STACKS, *A_STACK}
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


@pytest.mark.parametrize("words", commands("dynamo-gpt-oss", ".venv/bin/dynamo-gpt-oss"), ids=shown)
def test_the_installed_command(words: list[str], verbs: Any) -> None:
    if words[1].startswith("--"):
        assert words[1] in {"--help", "--version", "--install-completion"}
    else:
        parse(verbs, words[1:])


@pytest.mark.parametrize("words", commands("pulumi"), ids=shown)
def test_pulumi(words: list[str]) -> None:
    assert any(shown(words[1:]).startswith(known) for known in PULUMI)
    if "--stack" in words:
        assert words[words.index("--stack") + 1] in {*STACKS, *A_STACK}


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
    block = text.split("and these ten:")[1].split("```")[1].removeprefix("sh")
    words = [shlex.split(line, comments=True) for line in block.strip().splitlines()]
    assert len(words) == 10
    assert all(each in commands("make", "pulumi", "aws") for each in words)


SCHEMA: dict[str, Any] = json.loads((PROJECT / "stacks" / "schema.json").read_text())
KEYS = SCHEMA["properties"]["config"]["properties"]


def settings() -> Iterator[tuple[str, str, Any]]:
    """Page, key and value of every setting in a page's YAML, but those that a reader is to fill in (`…`)."""
    for page in PAGES:
        for language, block in FENCE.findall(page.read_text()):
            if language == "yaml":
                said = yaml.safe_load(block)
                config = said.get("config", said)
                yield from ((page.name, key, value) for key, value in config.items() if "…" not in f"{value}")


def test_there_are_settings_in_the_pages() -> None:
    assert len([*settings()]) >= 15


@pytest.mark.parametrize(
    ("page", "key", "value"), [each for each in settings() if each[1].startswith("dynamo-gpt-oss:")]
)
def test_settings(page: str, key: str, value: Any) -> None:
    schema = jsonschema.Draft202012Validator({"$defs": SCHEMA.get("$defs", {}), **KEYS[key]})
    assert [error.message for error in schema.iter_errors(value)] == [], page


@pytest.mark.parametrize("words", commands("curl"), ids=lambda words: words[-1][:40])
def test_curl(words: list[str]) -> None:
    address = next((word for word in words if "localhost:8000" in word), None)
    if address is None:
        return
    assert address.partition(":8000")[2] in {"/v1/chat/completions", "/v1/responses"}
    asked = json.loads(words[words.index("-d") + 1])
    assert asked["model"] == MODEL_ID


def test_the_calls_of_every_page_that_shows_some_are_read() -> None:
    asked = [words[-1] for words in commands("curl") if words[-1].startswith("{")]
    assert len(asked) >= 3, asked


@pytest.mark.parametrize("words", commands("kubectl"), ids=shown)
def test_kubectl(words: list[str]) -> None:
    assert words[1] in {
        "create",
        "delete",
        "describe",
        "exec",
        "get",
        "logs",
        "port-forward",
        "scale",
        "version",
    }
