"""Config that comes from environments of Pulumi ESC, which only a CLI opens."""

from pathlib import Path

import pytest

from ops.pulumi import automation, stack_config
from ops.pulumi.stack_file import StackFileError
from stacks.settings import ConfigError


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


PLAIN = {
    "a client's key": ("ingress: {apiKeys: {bob: {secure: AAAA}, eve: hf_plain}}", "ingress.apiKeys.eve"),
    "a token": ("huggingFace: {token: hf_plain, endpoint: {secure: AAAA}}", "huggingFace.token"),
    "a number": ("ngc: {apiKey: 123, other: {secure: AAAA}}", "ngc.apiKey"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_secret_is_seen_beside_an_encrypted_one(project: Path, name: str) -> None:
    (project / "Pulumi.yaml").write_text("name: dynamo-gpt-oss")
    text, key = PLAIN[name]
    (project / "Pulumi.x.yaml").write_text(f"config:\n  dynamo-gpt-oss:{text}")
    with pytest.raises(ConfigError) as error:
        stack_config.load(project, "x")
    assert str(error.value) == (
        f"dynamo-gpt-oss:{key}: the value is not encrypted; set it with "
        f"`pulumi config set --secret --path dynamo-gpt-oss:{key}`"
    )


@pytest.mark.parametrize("key", ["", "ab" * 32])
@pytest.mark.parametrize(
    "text",
    [
        "ingress: {apiKeys: {bob: {secure: AAAA}, eve: {secure: BBBB}}}",
        "ingress: {host: a.example.com, apiKeys: {secure: AAAA}}",
        "huggingFace: {secure: AAAA}",
        "huggingFace: {token: {secure: AAAA}, endpoint: https://hub.example.com}",
        "huggingFace: [{secure: AAAA}]",
        "graph: {name: {secure: AAAA}, token: plain}",
    ],
)
def test_what_is_encrypted_is_taken(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str, key: str
) -> None:
    monkeypatch.setenv("OPS_SECRET_FINGERPRINT_KEY", key)
    (project / "Pulumi.yaml").write_text("name: dynamo-gpt-oss")
    (project / "Pulumi.x.yaml").write_text(f"config:\n  dynamo-gpt-oss:{text}")
    assert len(stack_config.load(project, "x").secret_keys) == 1
