"""Workflows pin what they run, and give nothing away to a fork's pull request."""

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from ops.pulumi.stack_file import StackFile
from tests.project import PROJECT

FOLDER = PROJECT / ".github" / "workflows"
WORKFLOWS = sorted(path.name for path in FOLDER.iterdir())
PINNED = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def jobs(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())["jobs"]
    return found


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_action_is_pinned_by_commit_with_its_version(name: str) -> None:
    lines = (FOLDER / name).read_text().splitlines()
    uses = [line.partition("uses: ")[2] for line in lines if "uses: " in line]
    assert all(PINNED.fullmatch(each) for each in uses), uses


def test_one_action_has_one_commit() -> None:
    text = "".join((FOLDER / name).read_text() for name in WORKFLOWS)
    pins = set(re.findall(r"([\w-]+/[\w-]+)@(\w+)", text))
    assert len({action for action, _ in pins}) == len(pins)


def test_one_cli_is_used_and_it_is_the_sdk_s_release() -> None:
    text = "".join((FOLDER / name).read_text() for name in WORKFLOWS)
    pinned = re.search(
        r"^pulumi==([\d.]+)", (FOLDER.parents[1] / "requirements.txt").read_text(), re.MULTILINE
    )
    assert pinned
    assert set(re.findall(r"pulumi-version: (\S+)", text)) == {pinned[1]}
    assert text.count("pulumi-version:") == text.count("pulumi/actions@")


def test_the_real_engine_must_be_there_where_the_tests_run() -> None:
    [job] = jobs("test.yml").values()
    assert any(step.get("uses", "").startswith("pulumi/actions@") for step in job["steps"])
    [tests] = [step for step in job["steps"] if step.get("run") == "make test"]
    assert tests["env"]["REQUIRE_PULUMI"] == "true"


def test_a_release_is_tested_and_signed_before_it_is_there() -> None:
    steps = jobs("release.yml")["release"]["steps"]
    runs = [step.get("run", step.get("uses", "")).split("@")[0] for step in steps]
    order = ["make test", "make sbom", "actions/attest-build-provenance"]
    assert [run for run in runs if run in order] == order
    assert runs[-1].startswith("gh release create")


def test_a_preview_with_credentials_holds_stacks_to_the_rules() -> None:
    steps = jobs("preview.yml")["pulumi"]["steps"]
    ready = next(position for position, step in enumerate(steps) if step.get("run") == "make setup policy")
    [preview] = [step for step in steps[ready:] if step.get("with", {}).get("command") == "preview"]
    assert preview["with"]["policyPacks"] == "policy"


def test_what_changes_paid_resources_waits_for_approval_after_a_preview() -> None:
    up = jobs("deploy.yml")["up"]
    assert (up["needs"], up["environment"]) == ("preview", "deploy")


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_variable_and_secret_is_explained(name: str) -> None:
    page = (FOLDER.parents[1] / "docs" / "operations.md").read_text()
    said = set(re.findall(r"(?:vars|secrets)\.(\w+)", (FOLDER / name).read_text()))
    assert {each for each in said if f"`{each}`" not in page} == set()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_job_ends_and_keeps_no_credentials(name: str) -> None:
    for job in jobs(name).values():
        assert job["timeout-minutes"] <= 240
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_pull_request_code_meets_no_secret_unless_it_is_the_repository_s_own() -> None:
    preview = jobs("preview.yml")
    assert "secrets." not in yaml.safe_dump(preview["diff"])
    assert "permissions" not in preview["diff"]
    assert "head.repo.full_name == github.repository" in preview["pulumi"]["if"]
    commenting = jobs("preview-comment.yml")["comment"]
    assert not any("uses" in step for step in commenting["steps"]), "it must not check anything out"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_event_s_text_is_put_into_a_script(name: str) -> None:
    for job in jobs(name).values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")


def test_the_smoke_workflow_takes_down_what_it_makes_and_looks_for_what_is_left() -> None:
    steps = jobs("smoke.yml")["smoke"]["steps"]
    makes = [step["run"].split() for step in steps if step.get("run", "").startswith("make ")]
    assert makes == [["make", verb] for verb in ("setup", "doctor", "up", "verify", "down", "leftovers")]
    always = {step["run"] for step in steps if step.get("if") == "always()"}
    assert always == {"make down", "make leftovers"}
    limits = [step["timeout-minutes"] for step in steps if "timeout-minutes" in step]
    assert sum(limits) <= jobs("smoke.yml")["smoke"]["timeout-minutes"] - 25, (
        "EKS takes a quarter of an hour to go"
    )


@pytest.mark.parametrize("verb", ["doctor", "up", "verify", "down", "leftovers"])
def test_the_smoke_workflow_s_commands_are_those_of_the_makefile(verb: str) -> None:
    stack = jobs("smoke.yml")["smoke"]["env"]["STACK"]
    project = FOLDER.parents[1]
    # `make test` hands its own words on: options would have this one name folders, ARGS would be the verb's.
    words = ["make", "--dry-run", "--no-print-directory", "--assume-old=setup", verb]
    said = subprocess.run(
        words,
        cwd=project,
        env={**os.environ, "STACK": stack, "MAKEFLAGS": "", "ARGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.splitlines()[-1].split()[1:] == ["-m", "ops", verb, "--stack", stack]
    asked = subprocess.run(
        [sys.executable, "-m", "ops", verb, "--help"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "--stack" in asked.stdout, asked.stderr


def test_the_smoke_stack_lets_whichever_runner_deploys_it_in() -> None:
    project = FOLDER.parents[1]
    cluster = json.loads(StackFile.load(project, "smoke").config["dynamo-gpt-oss:cluster"])
    assert cluster["publicAccessFrom"] == ["auto"]


@pytest.mark.parametrize(
    ("name", "job"), [("deploy.yml", "preview"), ("drift.yml", "drift"), ("preview.yml", "pulumi")]
)
def test_a_runner_is_let_in_before_it_previews(name: str, job: str) -> None:
    """A stack with `publicAccessFrom: [auto]` answers the address alone that deployed it."""
    steps = jobs(name)[job]["steps"]
    (preview,) = [
        place
        for place, step in enumerate(steps)
        if "pulumi preview" in step.get("run", "") or step.get("with", {}).get("command") == "preview"
    ]
    said = [step["run"] for step in steps[:preview] if step.get("run", "").startswith("make let-in")]
    # Drift would be what is not as the program, whose `auto` is the runner's address alone.
    assert said == (["make let-in ARGS=--alone"] if job == "drift" else ["make let-in"])
