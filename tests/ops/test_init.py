"""`ops init`: what it asks, refuses and writes."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from ops import __main__ as ops
from ops import init
from ops.evaluate import evaluate
from ops.policy import check
from ops.pulumi.stack_file import StackFile
from ops.questions import QUESTIONS
from stacks.load import parse
from stacks.schema import EDITORS_FILE
from targets.catalogue import TARGETS
from tests.project import PROGRAM, PROJECT

EKS = {"target": "trtllm-disagg-b200", "cluster.kind": "eks", "tags.owner": "ml"}
BLOCK = {
    **EKS,
    "pool.capacity.kind": "capacity-block",
    "pool.capacity.reservationId": "cr-0123456789abcdef0",
    "cluster.region": "us-east-2",
    "pool.zones": ["us-east-2b"],
    "prices": 80,
}
ULTRASERVER = {
    **BLOCK,
    "target": "trtllm-agg-gb200",
    "cluster.region": "us-east-1",
    "pool.zones": ["us-east-1-dfw-2a"],
    "policy.maxUsdPerHour": 800,
}
EXISTING = {"target": "vllm-disagg-h100", "cluster.kind": "existing", "cache.storageClass": "shared-rwx"}
EXISTING_EKS = {
    **EKS,
    "cluster.kind": "existing-eks",
    "cluster.region": "us-west-2",
    "cluster.name": "ours",
    "cluster.subnets": {"us-west-2b": "subnet-0123456789abcdef0"},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's code in a folder without stacks."""
    for name in ("__main__.py", *PROGRAM):
        (tmp_path / name).symlink_to(PROJECT / name)
    shutil.copy(PROJECT / "Pulumi.yaml", tmp_path)
    monkeypatch.setattr(init, "PROJECT", tmp_path)
    return tmp_path


def initialise(project: Path, answers: Mapping[str, Any], name: str = "mine") -> Path:
    """The stack file that answers from a file make."""
    (project / "answers.yaml").write_text(yaml.safe_dump(dict(answers)))
    init.init(name, project / "answers.yaml")
    return project / f"Pulumi.{name}.yaml"


def breaks(answers: Mapping[str, Any]) -> set[str]:
    """Rules that cannot be kept without more than is asked."""
    if answers["target"] == "trtllm-disagg-b200-0.4":
        return {"pinned-versions", "unprivileged-pods"}  # its image moves, and its workers are root
    # The draft model's newest commit is taken; machine images of a cluster that is there are EKS's to choose.
    moving = "agentic" in answers["target"] or answers["cluster.kind"] == "existing-eks"
    return {"pinned-versions"} if moving else set()


@pytest.mark.parametrize(
    "answers",
    [
        *({**EKS, "target": target} for target in TARGETS if "gb200" not in target),
        BLOCK, ULTRASERVER, EXISTING, EXISTING_EKS,
    ],
    ids=lambda answers: f"{answers['target']}, {answers['cluster.kind']}, {answers.get('pool.capacity.kind')}",
)  # fmt: skip
def test_what_it_writes_synthesises_and_passes_schema_and_rules(
    project: Path, answers: Mapping[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    content = initialise(project, answers).read_text()
    assert (
        list(Draft7Validator(json.loads(EDITORS_FILE.read_text())).iter_errors(yaml.safe_load(content))) == []
    )
    file = StackFile.load(project, "mine")
    broken = {f"{finding}; see docs/policies.md" for finding in check(evaluate(project, file), file)}
    *told, last = capsys.readouterr().out.splitlines()
    assert {*told} == broken
    assert last.startswith("Pulumi.mine.yaml is written.")
    assert {line.split(": ")[1] for line in told} == breaks(answers)


def test_it_is_as_soon_ready_as_the_shipped_stack(project: Path) -> None:
    made = yaml.safe_load(initialise(project, EKS).read_text())["config"]
    shipped = yaml.safe_load((PROJECT / "Pulumi.disagg-b200.yaml").read_text())["config"]
    for section in ("dynamo-gpt-oss:pool", "dynamo-gpt-oss:cache"):
        assert shipped[section].items() <= made[section].items()


def test_the_file_says_what_each_key_is_for(project: Path) -> None:
    lines = initialise(project, BLOCK).read_text().splitlines()
    assert lines[0] == "# yaml-language-server: $schema=stacks/schema.json"
    at = lines.index("      reservationId: cr-0123456789abcdef0")
    assert lines[at - 1] == "      # Id of the Capacity Reservation (cr-…), which must be there."
    assert "    p6-b200.48xlarge: 80" in lines


@pytest.mark.parametrize(
    ("answers", "refused"),
    [
        ({"target": "gpt-4"}, "target: 'gpt-4' is not allowed; choose one of vllm-disagg-h100"),
        (
            {**EKS, "pool.instanceType": "p5.48xlarge"},
            "pool.instanceType: 'p5.48xlarge' is not allowed; choose one of p6-b200.48xlarge",
        ),
        (
            {**EKS, "cluster.region": "eu-west-1"},
            "cluster.region: dynamo-gpt-oss:cluster.region: eu-west-1 has no p6-b200.48xlarge; EC2 offers it in",
        ),
        ({**EKS, "cluster.region": "Ohio"}, "cluster.region: dynamo-gpt-oss:cluster.region: 'Ohio': write a region"),
        (
            {**ULTRASERVER, "pool.capacity.kind": "on-demand"},
            "pool.capacity.kind: dynamo-gpt-oss:pool.capacity.kind: ",
        ),
        (
            {**BLOCK, "pool.capacity.reservationId": "r-1"},
            "pool.capacity.reservationId: dynamo-gpt-oss:pool.capacity.reservationId: 'r-1': write the id",
        ),
        (
            {**BLOCK, "pool.zones": ["us-west-2a"]},
            "pool.zones: dynamo-gpt-oss:pool.zones: us-west-2a is not in cluster.region us-east-2",
        ),
        (
            {**EKS, "cluster.publicAccessFrom": "0.0.0.0/0"},
            "cluster.publicAccessFrom: dynamo-gpt-oss:cluster.publicAccessFrom[0]: '0.0.0.0/0': opens the control",
        ),
        (
            {**EKS, "cluster.publicAccessFrom": []},
            "cluster.publicAccessFrom: cluster.publicAccessFrom: missing, so nobody would reach the cluster",
        ),
        ({**EKS, "tags.owner": ""}, "tags.owner: no answer. Who answers for what it costs."),
        ({**EKS, "tags.ttl": "soon"}, "tags.ttl: dynamo-gpt-oss:tags.ttl: 'soon': write hours"),
        (
            {**EKS, "policy.maxUsdPerHour": 50},
            "policy.maxUsdPerHour: mandatory: price-ceiling: dynamo-gpt-oss-mine: 116.73 USD an hour; policy.max",
        ),
        ({"target": "trtllm-disagg-b200", "cluster.kind": "eks"}, "tags.owner: no answer. Who answers for"),
        (
            {**EXISTING, "cluster.region": "us-east-2"},
            "cluster.region: not asked for such a stack; leave it out. Asked are target, ",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_at_its_question(
    project: Path, answers: Mapping[str, Any], refused: str
) -> None:
    with pytest.raises(init.AnswerError) as error:
        initialise(project, answers)
    assert str(error.value).startswith(f"{project / 'answers.yaml'}: {refused}")
    assert list(project.glob("Pulumi.*.yaml")) == []


@pytest.mark.parametrize(
    ("content", "refused"), [(None, "No such file or directory"), ("a: [", "while parsing a flow node")]
)
def test_a_file_without_answers_is_refused(project: Path, content: str | None, refused: str) -> None:
    if content is not None:
        (project / "answers.yaml").write_text(content)
    with pytest.raises(init.AnswerError, match=f"answers.yaml: {refused}"):
        init.init("mine", project / "answers.yaml")


@pytest.mark.parametrize(
    ("name", "refused"),
    [("mine", "STACK: Pulumi.mine.yaml is there already"), ("a/b", "STACK: 'a/b' is no name of a stack")],
)
def test_no_file_is_overwritten_and_no_name_made_up(project: Path, name: str, refused: str) -> None:
    (project / "Pulumi.mine.yaml").write_text("of somebody")
    with pytest.raises(init.AnswerError, match=refused):
        initialise(project, EXISTING, name)
    assert (project / "Pulumi.mine.yaml").read_text() == "of somebody"


def test_it_asks_again_until_an_answer_can_be(project: Path) -> None:
    ops._add_verbs("init")
    typed = ["trtllm-disagg-b200", "eks", "", "", "eu-west-1", "us-west-2", "", "", "s3", "ml", "14d", "150"]
    ran = CliRunner().invoke(ops.app, ["init", "mine"], input="\n".join(typed) + "\n")
    assert ran.exit_code == 0, ran.output
    assert ran.output.count("error: ") == 1
    assert "error: dynamo-gpt-oss:cluster.region: eu-west-1 has no p6-b200.48xlarge" in ran.output
    config = yaml.safe_load((project / "Pulumi.mine.yaml").read_text())["config"]
    assert config["dynamo-gpt-oss:cluster"] == {
        "kind": "eks", "region": "us-west-2", "publicAccessFrom": ["auto"],
    }  # fmt: skip
    assert config["dynamo-gpt-oss:cache"] == {"kind": "s3"}
    assert config["dynamo-gpt-oss:tags"] == {"owner": "ml", "ttl": "14d"}


def test_every_question_is_about_a_key_of_the_settings() -> None:
    """So none can ask for what no stack may say."""
    schema = json.loads(EDITORS_FILE.read_text())
    names = {f".{key}" for model in schema["$defs"].values() for key in model.get("properties", {})}
    assert [
        question.key
        for question in QUESTIONS
        if "." in question.key and f".{question.key.rpartition('.')[2]}" not in names
    ] == []
    with pytest.raises(Exception, match="nothing: unknown key"):
        parse({"cluster": {"kind": "existing"}, "target": "mocker-disagg-cpu", "nothing": 1}, set())
