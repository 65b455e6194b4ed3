"""Which stack a verb means: looked for where `pulumi` itself looks, named, and never made by accident.

The CLI here is a script of a few lines; tests/engine/test_verbs.py asks the real one the same.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ops.pulumi import automation, stack_config
from ops.pulumi.command import PulumiError
from ops.pulumi.locks import LockedError
from ops.pulumi.stack_file import StackFile, StackFileError
from ops.pulumi.state_files import DamagedStateError
from ops.stack import kubeconfig
from stacks.load import parse
from tests.project import PROJECT

Answers = Mapping[str, str | tuple[int, str]]
WHO = {"user": "ada", "url": "https://app.pulumi.com/ada", "organizations": ["ada", "acme"]}
NOBODY = "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions"


def cli(folder: Path, monkeypatch: pytest.MonkeyPatch, answers: Answers) -> Path:
    """A `pulumi` on PATH that writes down how it was called and answers by words of the call."""
    program, calls = folder / "pulumi", folder / "calls"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"given = ' '.join(sys.argv[1:])\n"
        f"open({str(calls)!r}, 'a').write(json.dumps([given, os.environ.get('PULUMI_BACKEND_URL')]) + '\\n')\n"
        f"for words, answer in {dict(answers)!r}.items():\n"
        "    if words in given:\n"
        "        code, text = answer if isinstance(answer, tuple) else (0, answer)\n"
        "        print(text, file=sys.stderr if code else sys.stdout)\n"
        "        sys.exit(code)\n"
        "sys.exit(f'unexpected: {given}')\n"
    )
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return calls


def called(calls: Path) -> list[list[str | None]]:
    return [json.loads(line) for line in calls.read_text().splitlines()]


def test_no_backend_is_chosen_for_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    monkeypatch.delenv("PULUMI_ACCESS_TOKEN", raising=False)
    answers = {"version": "v3.272.0", "whoami": json.dumps(WHO), "org": "acme", "--show-name": ""}
    calls = cli(tmp_path, monkeypatch, answers)
    lines: list[str] = []
    automation.open_stack(PROJECT, "disagg-b200", report=lines.append)
    assert {backend for _, backend in called(calls)} == {None}
    assert lines == ["Pulumi: stack disagg-b200 of organization acme in https://app.pulumi.com/ada"]


def test_a_stack_of_another_organization(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"version": "v3.272.0", "whoami": json.dumps(WHO), "--show-name": ""}
    calls = cli(tmp_path, monkeypatch, answers)
    lines: list[str] = []
    automation.open_stack(PROJECT, "infra/disagg-b200", report=lines.append)
    assert lines == ["Pulumi: stack disagg-b200 of organization infra in https://app.pulumi.com/ada"]
    assert any("stack --stack infra/disagg-b200" in str(call) for call, _ in called(calls))
    assert StackFile.load(PROJECT, "infra/disagg-b200").stack == "disagg-b200"


def test_logged_out_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli(tmp_path, monkeypatch, {"version": "v3.272.0", "whoami": (255, NOBODY)})
    with pytest.raises(automation.LoggedOutError, match=r"^Pulumi is not logged in.*run `pulumi login`"):
        automation.open_stack(PROJECT, "disagg-b200", report=print)


def test_only_up_makes_a_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = (255, "error: no stack named 'disagg-b200' found")
    answers: Answers = {
        "version": "v3.272.0",
        "whoami": json.dumps(WHO),
        "org": "acme",
        "--show-name": missing,
    }
    calls = cli(tmp_path, monkeypatch, answers)
    with pytest.raises(
        automation.NoStackError, match="there is no stack disagg-b200 of organization acme in https"
    ):
        automation.open_stack(PROJECT, "disagg-b200", report=print)
    assert not any("init" in str(call) for call, _ in called(calls))


def lock(pid: int) -> str:
    return (
        "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete "
        "the lock file with `pulumi cancel`.\n"
        f"  file:///b/lock.json: created by ada@{os.uname().nodename} (pid {pid}) at 2026-11-22T00:00:00Z"
    )


@pytest.mark.parametrize("recycled", [False, True], ids=["gone", "its pid is another's"])
def test_the_lock_of_a_dead_process_is_taken_away(
    recycled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    pid = os.getpid() if recycled else dead.pid
    answers: Answers = {
        "version": "v3.272.0", "whoami": json.dumps(WHO), "org": "acme", "--show-name": "", "cancel": "",
        "destroy": (255, lock(pid)),
    }  # fmt: skip
    calls = cli(tmp_path, monkeypatch, answers)
    opened = automation.open_stack(PROJECT, "disagg-b200", report=print)
    lines: list[str] = []
    # The script's CLI stays locked, so the second attempt says so; what counts is what was done before it.
    with pytest.raises(LockedError):
        automation.down(opened, lines.append)
    assert any(line.startswith("taking away the lock of ada@") for line in lines)
    assert any("cancel" in str(call) for call, _ in called(calls))


def test_the_lock_of_a_living_process_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    program = tmp_path / "elsewhere" / "pulumi"
    program.write_text(f"#!{sys.executable}\nprint('at work', flush=True)\ninput()\n")
    program.chmod(0o700)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as living:
        assert living.stdout is not None
        assert living.stdout.readline() == "at work\n"
        answers: Answers = {
            "version": "v3.272.0", "whoami": json.dumps(WHO), "org": "acme", "--show-name": "",
            "destroy": (255, lock(living.pid)),
        }  # fmt: skip
        calls = cli(tmp_path, monkeypatch, answers)
        opened = automation.open_stack(PROJECT, "disagg-b200", report=print)
        with pytest.raises(
            LockedError, match=rf"being changed by ada@.* \(process {living.pid}, since"
        ) as error:
            automation.down(opened, print)
        assert str(error.value).endswith("and run `pulumi cancel disagg-b200`")
        opened.workspace.env_vars = {"PULUMI_BACKEND_URL": "file:///ours", "PULUMI_CONFIG_PASSPHRASE": ""}
        command = "PULUMI_BACKEND_URL=file:///ours PULUMI_CONFIG_PASSPHRASE= pulumi cancel disagg-b200"
        with pytest.raises(LockedError, match=command):
            automation.down(opened, print)
        living.communicate("\n")
    assert not any("cancel" in str(call) for call, _ in called(calls))


def test_a_cli_that_is_killed_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Answers = {
        "version": "v3.272.0", "whoami": json.dumps(WHO), "org": "acme", "--show-name": "",
        "destroy": (137, "deleting one\ndeleting another"),
    }  # fmt: skip
    cli(tmp_path, monkeypatch, answers)
    opened = automation.open_stack(PROJECT, "disagg-b200", report=print)
    with pytest.raises(PulumiError) as error:
        automation.down(opened, print)
    assert str(error.value) == "Pulumi could not destroy: it ended with code 137 and gave no reason"


def project(folder: Path, text: str) -> Path:
    (folder / "Pulumi.yaml").write_text((PROJECT / "Pulumi.yaml").read_text())
    (folder / "Pulumi.s.yaml").write_text(text)
    return folder


def test_an_environment_is_asked_of_the_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        "dynamo-gpt-oss:target": {"value": "vllm-disagg-h100", "secret": False},
        "dynamo-gpt-oss:huggingFace": {"objectValue": {"token": "[secret]"}, "secret": True},
    }
    cli(tmp_path, monkeypatch, {"version": "v3.272.0", "config --json": json.dumps(found)})
    file = stack_config.load(project(tmp_path, "environment: [dynamo/prod]\n"), "s")
    assert file.config["dynamo-gpt-oss:target"] == "vllm-disagg-h100"
    assert file.config["dynamo-gpt-oss:huggingFace"] == '{"token": "[secret]"}'
    assert "dynamo-gpt-oss:huggingFace" in file.secret_keys


def test_an_environment_of_a_stack_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = (6, "error: no stack named 's' found")
    answers: Answers = {
        "version": "v3.272.0",
        "whoami": json.dumps(WHO),
        "org": "acme",
        "config --json": missing,
    }
    cli(tmp_path, monkeypatch, answers)
    with pytest.raises(
        automation.NoStackError, match=r"no stack s of organization acme .* `pulumi stack init s`"
    ):
        stack_config.load(project(tmp_path, "environment: [dynamo/prod]\n"), "s")


def test_an_environment_without_a_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        StackFileError, match=r"^Pulumi\.s\.yaml: environment: dynamo/prod can be opened by a"
    ):
        stack_config.load(project(tmp_path, "environment: [dynamo/prod]\n"), "s")


def test_the_cluster_of_another_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"kind": "stack", "stack": "acme/infra/prod"}
    settings = parse(
        {"target": "vllm-disagg-h100", "cluster": cluster, "platform": {"install": False}}, set()
    )
    outputs = json.dumps({"kubeconfig": {"clusters": []}})
    answers = {"version": "v3.272.0", "whoami": json.dumps(WHO), "--show-name": "", "stack output": outputs}
    calls = cli(tmp_path, monkeypatch, answers)
    with kubeconfig.kubectl_options(settings, "mine") as options:
        (option,) = options
        path = Path(shlex.split(option)[0].removeprefix("--kubeconfig="))
        assert json.loads(path.read_text()) == {"clusters": []}
    assert not path.exists()
    assert any("acme/infra/prod" in str(call) for call, _ in called(calls))


def test_a_damaged_state_on_the_embedded_cluster_is_told_before_pulumi_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".pulumi" / "stacks" / "ours" / "dev.json"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.setattr(automation, "EMBEDDED_BACKEND", tmp_path)
    for verb in (automation.open_stack, automation.make_stack):
        with pytest.raises(DamagedStateError, match=r"Pulumi's state of dev in .* is damaged"):
            verb(tmp_path, "dev", embedded=True)
    with pytest.raises(DamagedStateError):
        automation.is_at_home("dev")
