"""No refusal shows a token, wherever it was written by mistake."""

import json
from typing import Any

import pytest

from stacks.load import from_text
from stacks.settings import PROJECT, ConfigError

MARKER = "MARKERofOurs0123456789"
"""Looks like nothing: hidden for where it stands."""
HF = "hf_abcdefghijklmnopqrstuvwxyz01234567"
"""Looks like what it is: hidden wherever it stands."""
STACK: dict[str, Any] = {"target": "trtllm-disagg-b200", "cluster": {"kind": "existing", "efa": True}}
INGRESS = {"host": "a.example.com", "gateway": "a/b"}

MISPLACED: dict[str, dict[str, Any]] = {
    "a mapping for it": {"huggingFace": {"token": {"oops": MARKER}}},
    "a misspelt key": {"huggingFace": {"tokn": MARKER}},
    "a key in capitals": {"huggingFace": {"HF_TOKEN": MARKER}},
    "a list": {"huggingFace": [MARKER]},
    "a list of mappings": {"huggingFace": [{"token": MARKER}]},
    "the section itself": {"huggingFace": MARKER},
    "half of an object": {"huggingFace": f'{{"token": "{MARKER}"'},
    "half of another section's object": {"graph": f'{{"token": "{MARKER}"'},
    "the name of a Secret": {"huggingFace": {"existingSecret": MARKER}},
    "the name of a Secret in AWS": {"huggingFace": {"awsSecret": MARKER}},
    "a value of AWS's": {"huggingFace": {"awsSecret": {"value": MARKER}}},
    "NVIDIA's": {"ngc": MARKER},
    "another name of NVIDIA's": {"ngc": {"key": MARKER}},
    "a client's keys as text": {"ingress": {**INGRESS, "apiKeys": MARKER}},
    "a client's keys as list": {"ingress": {**INGRESS, "apiKeys": [MARKER]}},
    "another name of clients' keys": {"ingress": {**INGRESS, "api_keys": [MARKER]}},
    "a client's name": {"ingress": {**INGRESS, "apiKeys": {f"a {MARKER}": "x"}}},
    "a section that is none": {"hugging_face": {"token": MARKER}},
    "a key that is none": {"hfToken": MARKER},
    "NVIDIA's key that is none": {"ngcApiKey": MARKER},
    "a key of the graph that is none": {"graph": {"hfToken": MARKER}},
    "a pull Secret's name": {"graph": {"image": {"pullSecret": MARKER}}},
}
ANYWHERE: dict[str, dict[str, Any]] = {
    "text for a section": {"tags": HF},
    "a name": {"graph": {"name": HF}},
    "a key": {"graph": {HF: 1}},
    "a mapping's key": {"graphs": {HF: 1}},
    "a choice": {"graph": {"frontend": {"routerMode": HF}}},
    "a client's good name": {"ingress": {**INGRESS, "apiKeys": {HF: None}}},
    "an address": {"monitoring": {"kind": "existing", "endpoint": f"http://me:{MARKER}@prom and more"}},
    "an unknown section": {"other": HF},
}


def refusal(section: dict[str, Any], secret_keys: set[str]) -> str:
    texts = {
        f"{PROJECT}:{key}": each if isinstance(each, str) else json.dumps(each)
        for key, each in (STACK | section).items()
    }
    with pytest.raises(ConfigError) as error:
        from_text(texts, {f"{PROJECT}:{key}" for key in secret_keys})
    return str(error.value)


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("name", MISPLACED)
def test_a_token_is_hidden_where_it_belongs_elsewhere(name: str, encrypted: bool) -> None:
    said = refusal(MISPLACED[name], set(MISPLACED[name]) if encrypted else set())
    assert MARKER not in said
    assert "[secret]" in said or "given {token}" in said


@pytest.mark.parametrize("name", ANYWHERE)
def test_what_looks_like_one_is_hidden_anywhere(name: str) -> None:
    said = refusal(ANYWHERE[name], set())
    assert HF not in said
    assert MARKER not in said
    assert "[secret]" in said


LOOKS = {
    "of Hugging Face": HF,
    "of NVIDIA": "nvapi-abcdefghijkl-0123",
    "of AWS": "AKIAABCDEFGHIJKLMNOP",
    "of OpenAI": "sk-proj-abcdefghijklmnopqrstuv0123",
    "of GitHub": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "of GitLab": "glpat-abcdefghijklmnopqrst",
    "of Pulumi": f"pul-{'0123456789' * 4}",
    "a private key": "-----BEGIN PRIVATE KEY-----\nabcdefghijkl\n-----END PRIVATE KEY-----",
    "half a private key": "-----BEGIN EC PRIVATE KEY----- abcdefghijkl",
}


@pytest.mark.parametrize("name", LOOKS)
def test_it_is_known_by_its_looks_at_any_place_of_a_text(name: str) -> None:
    token = LOOKS[name]
    for text in (token, f"--a={token}", f"a\n{token}", "x" * 110 + f" {token}", f"{token}{'y' * 200}"):
        said = refusal({"graph": {"name": text, "decode": [text], text: {text: 1}}}, set())
        assert token not in said
        assert token[4:].split("\n", maxsplit=1)[0][:8] not in said
        assert "abcdefghijkl" not in said


def test_what_only_begins_like_one_is_shown() -> None:
    for text in ("sk-a-name-of-a-graph-that-is-long", "task-0123456789012345678901", "ghp_"):
        assert f"graph.logLevel: {text!r}" in refusal({"graph": {"logLevel": text}}, set())


READABLE: dict[str, tuple[dict[str, Any], str]] = {
    "an argument": ({"graph": {"decode": {"extraArgs": ["--hf-token", HF]}}}, "graph.decode.extraArgs[1]"),
    "a part of one": (
        {"graph": {"decode": {"extraArgs": [f"--hf-token={HF}"]}}},
        "graph.decode.extraArgs[0]",
    ),
    "a variable": ({"graph": {"decode": {"env": {"MINE": f"nvapi-{MARKER}"}}}}, "graph.decode.env.MINE"),
    "an address": (
        {"monitoring": {"kind": "existing", "endpoint": f"http://me:{MARKER}@prometheus:9090"}},
        "monitoring.endpoint",
    ),
    "a tag": ({"tags": {"more": {"key": "AKIAABCDEFGHIJKLMNOP"}}}, "tags.more.key"),
}


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("name", READABLE)
def test_a_secret_in_what_everybody_can_read_is_refused(name: str, encrypted: bool) -> None:
    """Encrypted in the stack file it would still be plain on the cluster."""
    section, key = READABLE[name]
    assert refusal(section, set(section) if encrypted else set()) == (
        f"{PROJECT}:{key}: it holds what looks like a token, a key or a password, and goes to where everybody can "
        "read it; take it out"
    )


def test_what_is_encrypted_is_hidden_in_any_section() -> None:
    section = {"graph": {"name": MARKER}}
    assert f"graph.name: {MARKER!r}: write" in refusal(section, set())
    assert "graph.name: [secret]: write" in refusal(section, {"graph"})


def test_what_is_no_secret_is_shown_beside_one() -> None:
    section = {"ingress": {**INGRESS, "host": "NO", "apiKeys": {"a": "x"}}}
    assert "ingress.host: 'NO': write" in refusal(section, {"ingress"})
    assert "graph.decode.maxNumTokens: 'few': " in refusal(
        {"graph": {"decode": {"maxNumTokens": "few"}}}, set()
    )
    assert "externalSecrets.refreshMinutes: 0: " in refusal({"externalSecrets": {"refreshMinutes": 0}}, set())


def test_a_key_is_known_by_the_name_that_is_documented_alone() -> None:
    said = refusal({"graph": {"dynamo_version": "1.4.2"}}, set())
    assert "graph.dynamo_version: unknown key, given '1.4.2' (did you mean dynamoVersion?)" in said


def test_a_long_value_is_cut() -> None:
    said = refusal({"graph": {"name": "A" * 5000}}, set())
    assert f"graph.name: '{'A' * 119}… (5002 characters): " in said


@pytest.mark.parametrize("namespace", ["dynamo-gptoss", "dynamo_gpt_oss"])
def test_a_misspelt_namespace_is_no_other_program_s(namespace: str) -> None:
    own = {f"{PROJECT}:target": "mocker-disagg-cpu", f"{PROJECT}:cluster": json.dumps({"kind": "existing"})}
    assert from_text(own | {"aws:region": "us-east-1", "aws:profile": "p"}, set())
    with pytest.raises(ConfigError) as error:
        from_text(own | {f"{namespace}:graph": "{}"}, set())
    assert str(error.value) == f"{namespace}:graph: nothing reads keys of {namespace}; write {PROJECT}:graph"
    with pytest.raises(ConfigError) as error:
        from_text(own | {f"{namespace}:graph": "{}", f"{PROJECT}:zzz": "1"}, set())
    assert [line.partition(": ")[0] for line in str(error.value).splitlines()] == [
        f"{namespace}:graph",
        f"{PROJECT}:zzz",
    ]
