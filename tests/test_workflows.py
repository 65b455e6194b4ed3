"""Workflows pin what they run, and give nothing away to a fork's pull request."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[1] / ".github" / "workflows"
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


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_job_ends_and_keeps_no_credentials(name: str) -> None:
    for job in jobs(name).values():
        assert job["timeout-minutes"] <= 60
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
