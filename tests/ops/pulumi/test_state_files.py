"""State files that are damaged, as Pulumi's CLI 3.260.0 writes and names them."""

from pathlib import Path

import pytest

from ops.pulumi import state_files
from ops.pulumi.state_files import DamagedStateError

WHOLE = '{"version": 3, "checkpoint": {"stack": "organization/dynamo-gpt-oss/dev"}}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    stacks = tmp_path / "with space" / ".pulumi" / "stacks" / "dynamo-gpt-oss"
    stacks.mkdir(parents=True)
    for name in ("dev.json", "dev.json.bak", "other.json"):
        (stacks / name).write_text(WHOLE)
    (stacks / "dev.json.attrs").write_text("no JSON")
    return stacks / "dev.json"


def test_whole_ones_and_none_are_fine(file: Path, tmp_path: Path) -> None:
    state_files.check(tmp_path / "with space")
    state_files.check(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", WHOLE[:40], "[]", "\xff"])
def test_the_one_before_is_named(file: Path, tmp_path: Path, text: str) -> None:
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(DamagedStateError) as error:
        state_files.check(tmp_path / "with space")
    assert str(error.value) == (
        f"--stack: Pulumi's state of dev in {file} is damaged; take the one before it, `cp '{file}.bak' '{file}'`, and "
        "run the verb again: what was made since is taken up by `up`"
    )


@pytest.mark.parametrize("before", ["", None])
def test_without_one_before_the_cluster_is_ended(file: Path, tmp_path: Path, before: str | None) -> None:
    file.write_text("")
    earlier = file.with_name("dev.json.bak")
    if before is None:
        earlier.unlink()
    else:
        earlier.write_text(before)
    with pytest.raises(DamagedStateError) as error:
        state_files.check(tmp_path / "with space")
    assert str(error.value).endswith(
        "is damaged, and there is none before it; `make down STACK=dev ARGS=--force` ends the cluster"
    )
