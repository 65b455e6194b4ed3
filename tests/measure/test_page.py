"""What docs/benchmarks.md shows can be typed."""

import re
import shlex

import pytest
import typer
import yaml

from ops import bench
from stacks.load import parse
from tests.project import PROJECT

PAGE = (PROJECT / "docs" / "benchmarks.md").read_text()
SHOWN = re.findall(r"^python -m ops bench (--[^#\n]*)", PAGE, re.MULTILINE)


def test_its_shape_is_one() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    said = {key.removeprefix("dynamo-gpt-oss:"): value for key, value in yaml.safe_load(block).items()}
    stack = parse({"target": "trtllm-disagg-b200", "cluster": {"kind": "existing"}, **said}, set())
    load = stack.checks.benchmark.load(stack.target, gpus=8)
    assert (load.isl, load.osl, load.concurrency, load.requests, load.warmup) == (512, 64, 8, 40, 8)


@pytest.mark.parametrize("line", SHOWN)
def test_its_lines_are_understood(line: str) -> None:
    command = typer.main.get_command(bench.app)
    with command.make_context("bench", shlex.split(line)) as context:
        assert context.params["stack"] == "dev"


def test_it_shows_what_a_run_is_chosen_by() -> None:
    shown = " ".join(SHOWN)
    assert all(option in shown for option in ("--shape", "--sweep", "--repetitions", "--keep", "--teardown"))
