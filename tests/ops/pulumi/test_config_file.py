"""A stack's config for one update."""

from pathlib import Path

import yaml

from ops.pulumi.config_file import config_file
from ops.pulumi.stack_file import StackFile

KEY = "dynamo-gpt-oss:pool"
FILE = StackFile(
    project="dynamo-gpt-oss",
    stack="mine",
    config={"dynamo-gpt-oss:target": "t", KEY: '{"active": false, "nodes": 2}'},
    secret_keys=frozenset(),
)
ON_DISK = """
encryptionsalt: v1:abc
config:
  dynamo-gpt-oss:target: t
  pool: { nodes: 2, active: true }
  dynamo-gpt-oss:huggingFace: { token: { secure: v1:def } }
  aws:region: us-east-2
"""


def test_a_changed_key_is_another_and_all_else_is_as_it_was(tmp_path: Path) -> None:
    stack = tmp_path / "Pulumi.mine.yaml"
    stack.write_text(ON_DISK)
    with config_file(tmp_path, FILE, [KEY]) as path:
        assert path is not None
        written = yaml.safe_load(path.read_text())
    own = yaml.safe_load(ON_DISK)
    assert written["config"].pop(KEY) == {"active": False, "nodes": 2}
    del own["config"]["pool"]
    assert written == own
    assert stack.read_text() == ON_DISK
    assert not path.exists(), "it goes with the update"


def test_where_nothing_is_changed_pulumi_reads_the_stacks_own_file(tmp_path: Path) -> None:
    with config_file(tmp_path, FILE, ()) as path:
        assert path is None
