"""Config that comes from environments of Pulumi ESC, which only a CLI opens."""

from pathlib import Path

import pytest

from ops.pulumi import automation, stack_config
from ops.pulumi.stack_file import StackFileError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: ours")
    (tmp_path / "Pulumi.plain.yaml").write_text("config: {'ours:a': mine}")
    (tmp_path / "Pulumi.esc.yaml").write_text("config: {'ours:a': mine}\nenvironment: [team/base]")
    return tmp_path


def test_a_stack_without_environments_asks_nobody(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automation, "available", lambda: pytest.fail("it asked for a CLI"))
    assert stack_config.load(project, "plain").config == {"ours:a": "mine"}


def test_without_a_cli_the_environment_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automation, "available", lambda: False)
    with pytest.raises(StackFileError, match=r"Pulumi\.esc\.yaml: environment: team/base can be opened by"):
        stack_config.load(project, "esc")


def test_what_the_cli_says_is_above_the_file_and_its_secrets_are_known(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automation, "available", lambda: True)
    answers = {"ours:a": ("theirs", False), "ours:token": ("hf_1", True)}
    monkeypatch.setattr(automation, "config", lambda *_: answers)
    file = stack_config.load(project, "acme/esc")
    assert file.config == {"ours:a": "theirs", "ours:token": "hf_1"}
    assert file.secret_keys == {"ours:token"}
