"""An update whose config differs from the stack's file, by a real Pulumi CLI."""

import json
from pathlib import Path

import pytest
from pulumi import automation as pulumi_automation

from ops.pulumi import automation
from ops.pulumi.config_file import config_file
from ops.pulumi.events import Events
from ops.pulumi.stack_file import StackFile
from ops.watch.made import Made
from tests.engine.conftest import Engine
from tests.project import PROJECT

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]
PROGRAM = """
import pulumi
config = pulumi.Config()
pulumi.export("pool", config.require_object("pool"))
pulumi.export("token", config.require_secret("token").apply(len))
"""


def test_the_program_sees_the_change_and_the_file_stays_as_it_is(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(PROGRAM)
    runtime = f"{{name: python, options: {{virtualenv: {PROJECT / '.venv'}}}}}"
    (tmp_path / "Pulumi.yaml").write_text(f"name: dynamo-gpt-oss\nruntime: {runtime}\n")
    options = pulumi_automation.LocalWorkspaceOptions(env_vars=engine.environment)
    made = pulumi_automation.create_or_select_stack("once", work_dir=str(tmp_path), opts=options)
    own = tmp_path / "Pulumi.once.yaml"
    made.set_config("pool", pulumi_automation.ConfigValue('{"active": true}'))
    made.set_config("token", pulumi_automation.ConfigValue("secret", secret=True))
    before = own.read_text()
    file = StackFile.load(tmp_path, "once")
    key = "dynamo-gpt-oss:pool"
    changed = StackFile(
        project=file.project,
        stack=file.stack,
        config={**file.config, key: json.dumps({"active": False})},
        secret_keys=file.secret_keys,
    )
    try:
        with config_file(tmp_path, changed, [key]) as config:
            automation.up(made, print, Events(print, Made(0)), config)
        outputs = made.outputs()
        assert outputs["pool"].value == {"active": False}
        assert outputs["token"].value == len("secret"), "encrypted values are opened as ever"
        assert own.read_text() == before
        automation.up(made, print, Events(print, Made(0)))
        assert made.outputs()["pool"].value == {"active": True}
    finally:
        made.workspace.remove_stack("once", force=True)
