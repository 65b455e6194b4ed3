"""Stack files as Pulumi's CLI reads them, without its CLI."""

import json
from pathlib import Path

import pytest

from ops.pulumi.stack_file import StackFile, StackFileError, stacks
from targets.errors import UserError

PROJECT_FILE = """
name: ours
config:
  plain: 1
  declared: {type: string, default: from the project}
  valued: {value: also}
  aws:region: us-east-2
  nothing: {type: string}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text(PROJECT_FILE)
    return tmp_path


def written(project: Path, text: str) -> StackFile:
    (project / "Pulumi.dev.yaml").write_text(text)
    return StackFile.load(project, "dev")


def test_the_projects_defaults_are_below_the_stacks_values(project: Path) -> None:
    file = written(project, "config: {'ours:declared': mine}")
    assert file.config == {
        "aws:region": "us-east-2",
        "ours:declared": "mine",
        "ours:plain": "1",
        "ours:valued": "also",
    }


def test_structured_values_are_json_and_text_is_text(project: Path) -> None:
    file = written(project, "config: {'ours:graph': {b: [1, true], a: x}, 'ours:n': 1.5, 'ours:on': true}")
    assert json.loads(file.config["ours:graph"]) == {"a": "x", "b": [1, True]}
    assert (file.config["ours:n"], file.config["ours:on"]) == ("1.5", "true")


def test_an_encrypted_value_is_masked_at_any_depth_and_its_key_known(project: Path) -> None:
    file = written(
        project,
        "config: {'ours:deep': {keys: [{token: {secure: AAAAcipher}}]}, 'ours:top': {secure: BBBBcipher}}",
    )
    assert file.secret_keys == {"ours:deep", "ours:top"}
    assert "cipher" not in json.dumps(file.config)
    assert json.loads(file.environment()["PULUMI_CONFIG_SECRET_KEYS"]) == ["ours:deep", "ours:top"]


def test_what_is_encrypted_is_a_text(project: Path) -> None:
    file = written(project, "config: {'ours:key': {deep: {secure: {}}}, 'ours:number': {secure: 5}}")
    assert json.loads(file.config["ours:key"]) == {"deep": {"secure": {}}}
    assert json.loads(file.config["ours:number"]) == {"secure": 5}
    assert not file.secret_keys


def test_a_mapping_that_only_has_a_key_secure_among_others_is_no_secret(project: Path) -> None:
    file = written(project, "config: {'ours:tls': {secure: 'yes', port: 443}}")
    assert json.loads(file.config["ours:tls"]) == {"port": 443, "secure": "yes"}
    assert not file.secret_keys


@pytest.mark.parametrize(
    ("declared", "names"),
    [("[base, {team: {}}]", ("base", "team")), ("{values: {a: 1}}", ("its own",)), ("[]", ())],
)
def test_environments_are_named(project: Path, declared: str, names: tuple[str, ...]) -> None:
    assert written(project, f"config: {{}}\nenvironment: {declared}").environments == names


def test_a_name_with_its_organization_is_the_same_stack(project: Path) -> None:
    written(project, "config: {}")
    assert StackFile.load(project, "acme/ours/dev").stack == "dev"
    assert stacks(project) == ["dev"]


@pytest.mark.parametrize("text", ["config: [", "- a", "just text"])
def test_what_is_no_stack_file_is_refused_by_its_name(project: Path, text: str) -> None:
    with pytest.raises(UserError, match=r"Pulumi\.dev\.yaml is not"):
        written(project, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a, b]", "config: not a mapping of keys to values; write each key below it"),
        ("{':a': 1}", "config: ':a' is no key that Pulumi takes; write ours:NAME"),
        ("{'aws:': 1}", "config: 'aws:' is no key that Pulumi takes; write ours:NAME"),
        ("{'a:b:c': 1}", "config: 'a:b:c' is no key that Pulumi takes; write ours:NAME"),
        ("{}\nenvironment: [a, {}]", "environment[1]: no name of an environment; write one, as text"),
        ("text", "config: not a mapping of keys to values; write each key below it"),
        ("{a: 1, 'ours:a': 2}", "config: ours:a is there twice, once without its namespace; keep one"),
    ],
)
def test_a_config_that_pulumi_would_not_read_either(project: Path, text: str, message: str) -> None:
    with pytest.raises(StackFileError) as error:
        written(project, f"config: {text}")
    assert str(error.value) == f"Pulumi.dev.yaml: {message}"


def test_a_key_without_a_namespace_is_the_projects_as_for_pulumi(project: Path) -> None:
    assert written(project, "config: {declared: mine, 'aws:region': us-west-2}").config == {
        "aws:region": "us-west-2",
        "ours:declared": "mine",
        "ours:plain": "1",
        "ours:valued": "also",
    }


def test_a_name_that_no_file_can_have_is_refused_like_any_other(project: Path) -> None:
    (project / "Pulumi.folder.yaml").mkdir()
    for name in ("x" * 300, "folder"):
        with pytest.raises(StackFileError, match="has no Pulumi"):
            StackFile.load(project, name)


def test_a_stack_that_is_not_there_lists_those_that_are(project: Path) -> None:
    written(project, "config: {}")
    with pytest.raises(StackFileError) as error:
        StackFile.load(project, "acme/prod")
    assert str(error.value) == "--stack: 'prod' has no Pulumi.prod.yaml here; choose one of dev"
    with pytest.raises(StackFileError) as error:
        StackFile.load(project, "dve")
    assert str(error.value).startswith(
        "--stack: 'dve' has no Pulumi.dve.yaml here (did you mean dev?); choose"
    )
