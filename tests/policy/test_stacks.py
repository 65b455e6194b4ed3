"""Every shipped stack keeps the rules, or its file says where it does not, and why."""

import dataclasses
import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ops import __main__ as ops
from ops.evaluate import evaluate
from ops.policy import check
from ops.pulumi.stack_file import StackFile, stacks
from policy.check import SECTION
from policy.rules import RESOURCE_RULES, STACK_RULES
from stacks.sections.policy import Rule
from stacks.settings import ConfigError
from tests.golden_files import compare_block
from tests.project import PROJECT


def broken(file: StackFile) -> set[tuple[str, str]]:
    return {(finding.rule.value, finding.level.value) for finding in check(evaluate(PROJECT, file), file)}


@pytest.mark.parametrize("stack", stacks(PROJECT))
def test_a_shipped_stack_keeps_the_rules_but_for_the_exceptions_that_it_needs(stack: str) -> None:
    file = StackFile.load(PROJECT, stack)
    said: dict[str, Any] = json.loads(file.config.get(SECTION, "{}"))
    rules = said.pop("rules", {})
    strict = dataclasses.replace(file, config={**file.config, SECTION: json.dumps(said)})
    assert {rule for rule, _ in broken(strict)} == {*rules}
    assert all(level == "advisory" and rules[rule]["level"] == level for rule, level in broken(file))


def synth_check(file: StackFile, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.setattr("ops.pulumi.stack_config.load", lambda *_: file)
    return CliRunner().invoke(ops.app, ["synth", "--stack", file.stack, "--check"])


def test_a_stack_that_breaks_a_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = StackFile.load(PROJECT, "disagg-b200")
    tags = {"dynamo-gpt-oss:tags": json.dumps({"ttl": "24h"})}
    result = synth_check(dataclasses.replace(shipped, config={**shipped.config, **tags}), monkeypatch)
    assert result.stdout == (
        "mandatory: owner-and-ttl: gpu-nodes: no tag `owner`: say in tags.owner who answers for these GPUs\n"
        "1 mandatory, 0 advisory\n"
    )
    assert result.exit_code == 1


def test_advice_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    result = synth_check(StackFile.load(PROJECT, "prod"), monkeypatch)
    assert result.stdout.splitlines()[-1] == "0 mandatory, 1 advisory"
    assert result.exit_code == 0


def test_a_level_without_a_reason_is_refused_by_the_program() -> None:
    shipped = StackFile.load(PROJECT, "disagg-b200")
    policy = {"dynamo-gpt-oss:policy": json.dumps({"rules": {"imdsv2": {"level": "disabled"}, "imds": {}}})}
    with pytest.raises(ConfigError) as refused:
        evaluate(PROJECT, dataclasses.replace(shipped, config={**shipped.config, **policy}))
    unknown, without_reason = sorted(str(refused.value).splitlines())
    assert "dynamo-gpt-oss:policy.rules.imds: " in unknown
    assert "'owner-and-ttl'" in unknown
    assert without_reason.endswith("says less than the rule and not why; write a reason beside it")


def test_the_page_has_every_rule() -> None:
    """`REGENERATE=1` writes it anew."""
    rules = RESOURCE_RULES | STACK_RULES
    rows = [f"| `{rule}` | {(rules[rule].__doc__ or '').strip()} |\n" for rule in Rule]
    begin = "<!-- the rules: tests/policy/test_stacks.py writes this -->\n"
    table = "".join(["| rule | demands |\n", "|---|---|\n", *rows])
    compare_block(PROJECT / "docs" / "policies.md", begin, "<!-- end of the rules -->", table)


def test_the_pack_reads_config_by_the_same_release_of_pydantic() -> None:
    texts = [(PROJECT / name).read_text() for name in ("requirements.txt", "policy/requirements.txt")]
    [own, of_the_pack] = [re.findall(r"^pydantic==\S+", text, re.MULTILINE) for text in texts]
    assert own == of_the_pack != []
