"""The installed command `dynamo-gpt-oss`: its entry, its version, and what a shell completes."""

import os
import re
import subprocess
import sys
import tomllib

from ops.pulumi.stack_file import stacks
from ops.version import version
from tests.project import PROJECT

ABOUT = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
MODULE, FUNCTION = ABOUT["scripts"]["dynamo-gpt-oss"].split(":")
ENTRY = f"import sys; sys.argv[0] = 'dynamo-gpt-oss'; from {MODULE} import {FUNCTION} as main; main()"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The entry point in a process of its own, as pip's script calls it."""
    return subprocess.run(
        [sys.executable, "-c", ENTRY, *arguments],
        cwd=PROJECT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def completed(line: str) -> list[str]:
    """What bash is offered for a line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = run(_DYNAMO_GPT_OSS_COMPLETE="complete_bash", **words)
    assert done.stderr == ""
    return done.stdout.split()


def test_it_says_the_one_version_there_is() -> None:
    assert run("--version").stdout.strip() == version() == ABOUT["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", version())


def test_the_changelog_has_no_release_after_it() -> None:
    released = re.findall(r"^## (\d+)\.(\d+)\.(\d+)", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE)
    ours = tuple(int(number) for number in re.findall(r"\d+", version())[:3])
    assert all(tuple(map(int, each)) <= ours for each in released)


def test_it_needs_what_its_verbs_need_and_nothing_of_the_tests() -> None:
    tool = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["setuptools"]
    files = tool["dynamic"]["dependencies"]["file"]
    assert files == ["requirements.txt", "requirements-ops.txt"]
    wanted = " ".join((PROJECT / name).read_text() for name in files)
    assert "-r " not in wanted, "setuptools follows no other file"
    assert "pytest" not in wanted


def test_a_shell_completes_verbs_also_those_of_modules_of_their_own() -> None:
    assert completed("dynamo-gpt-oss le") == ["leftovers", "let-in"]
    assert "cost" in completed("dynamo-gpt-oss c")


def test_a_shell_completes_stacks_and_options() -> None:
    assert completed("dynamo-gpt-oss cost --stack d") == [
        name for name in stacks(PROJECT) if name.startswith("d")
    ]
    assert "--stack" in completed("dynamo-gpt-oss leftovers --")
    assert "--dry-run" in completed("dynamo-gpt-oss down --")
