"""`ops diff` between commits of a small repository of its own."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ops.secrets_by_verb import MARKER, found_in
from tests.project import PROJECT

PACKAGES = {each.parent.name for each in PROJECT.glob("*/__init__.py")} - {"tests"}
PROGRAM = ("Pulumi.yaml", "__main__.py", *sorted(PACKAGES))
DEV: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing"},
    "platform": {"install": False},
    "graph": {"transport": "node"},
    # With it a changed graph is verified anew, which is a second change.
    "verify": "off",
}


class Repository:
    """The program in a git repository, with stacks that a test changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")
        (folder / "README.md").write_text("nothing yet\n")
        self.commit("empty")
        for name in PROGRAM:
            copy = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy
            copy(PROJECT / name, folder / name)
        self.stack("dev", DEV)
        self.stack("other", DEV | {"target": "vllm-disagg-h100"})
        self.commit("program")

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, tag: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", tag)
        self.git("tag", tag)

    def stack(self, name: str, values: Mapping[str, Any]) -> None:
        config = {f"dynamo-gpt-oss:{key}": value for key, value in values.items()}
        (self.folder / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump({"config": config}))

    def diff(self, base: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ops", "diff", "--base", base, *options],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository(tmp_path_factory.mktemp("repository"))
    made.stack("dev", DEV | {"graph": {"transport": "node", "decode": {"maxBatchSize": 64}}})
    made.commit("batch")
    made.stack("dev", DEV | {"huggingFace": {"token": {"secure": "v1:first"}}})
    made.commit("token")
    return made


def test_one_batch_size_is_one_field_of_one_stack(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "batch")
    done = repository.diff("program", "--exit-code")
    assert done.stdout == (
        "dev: 1 to update\n"
        "  graph\n"
        "    ~ kubernetes:nvidia.com/v1beta1:DynamoGraphDeployment graph\n"
        "        restarts 2 workers of graph gpt-oss-disagg: no answer for about one load time (~22 min by the "
        "timeline's assumption)\n"
        "        spec.components[TrtllmDecodeWorker].podTemplate.spec.containers[main].args[--max-batch-size]: "
        '"128" → "64"\n'
        "Unchanged: other\n"
    )
    assert done.returncode == 2
    assert repository.git("worktree", "list").count("\n") == 0


def test_a_changed_graph_is_verified_anew(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "batch")
    verified = {key: value for key, value in DEV.items() if key != "verify"}
    repository.stack("dev", verified)
    repository.git("commit", "--quiet", "--all", "--message", "verified")
    repository.stack("dev", verified | {"graph": {"transport": "node", "decode": {"maxBatchSize": 64}}})
    done = repository.diff("HEAD")
    repository.git("checkout", "--quiet", "--force", "batch")
    signs = [
        line.split()[:2] for line in done.stdout.splitlines() if line.startswith("    ") and line[4] != " "
    ]
    assert signs == [
        ["±", "kubernetes:batch/v1:Job"],
        ["~", "kubernetes:nvidia.com/v1beta1:DynamoGraphDeployment"],
    ]


def test_nothing_changed_ends_with_0(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "batch")
    done = repository.diff("HEAD", "--exit-code")
    assert (done.returncode, done.stdout) == (0, "No stack changes since HEAD.\n")


def test_a_changed_secret_is_changed_and_never_shown(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "token")
    repository.stack("dev", DEV | {"huggingFace": {"token": {"secure": "v1:second"}}})
    done = repository.diff("token", "--format", "md")
    repository.git("checkout", "--quiet", "--force", "token")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert "- `data`: [secret], changed" in lines
    assert sum(line.startswith("- `data`") or "→" in line for line in lines) == 1
    assert "v1:first" not in done.stdout
    assert "v1:second" not in done.stdout
    assert "[secret " not in done.stdout


@pytest.mark.parametrize(("where", "form"), [("base", "md"), ("head", "text")])
def test_a_token_in_clear_is_not_shown(repository: Repository, where: str, form: str) -> None:
    """What is refused is not said in its words, which a comment would show to everybody."""
    repository.git("checkout", "--quiet", "token")
    repository.stack("dev", DEV | {"huggingFace": {"token": MARKER}})
    if where == "base":
        repository.git("commit", "--quiet", "--all", "--message", "in clear")
        repository.stack("dev", DEV)
    done = repository.diff("HEAD", "--format", form)
    repository.git("checkout", "--quiet", "--force", "token")
    said = done.stdout + done.stderr
    assert "huggingFace.token" in said
    assert found_in(said) == []


def test_stacks_and_resources_come_and_go(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "token")
    (repository.folder / "Pulumi.other.yaml").rename(repository.folder / "Pulumi.third.yaml")
    done = repository.diff("batch", "--format", "json")
    repository.git("checkout", "--quiet", "--force", "token")
    repository.git("clean", "--quiet", "--force")
    diffs = {each["stack"]: each for each in json.loads(done.stdout)}
    assert {stack: each["state"] for stack, each in diffs.items()} == {
        "dev": "changed",
        "other": "removed",
        "third": "added",
    }
    assert {r["action"] for r in diffs["other"]["resources"]} == {"delete"}
    assert {r["action"] for r in diffs["third"]["resources"]} == {"create"}
    actions = {r["name"]: r["action"] for r in diffs["dev"]["resources"]}
    assert actions["hf-token-secret"] == "create"
    # The Job mounts the Secret now, and a Job's pod cannot change.
    assert actions["model-download"] == "replace"


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("nowhere", "error: --base: 'nowhere' is no commit here; fetch it first, or choose another\n"),
        ("empty", "error: --base: 'empty' has no `ops synth` to compare with; choose a later commit\n"),
    ],
)
def test_a_base_that_cannot_be_compared_is_one_sentence(
    repository: Repository, base: str, message: str
) -> None:
    done = repository.diff(base)
    assert (done.returncode, done.stderr) == (1, message)
    assert repository.git("worktree", "list").count("\n") == 0


def test_a_head_that_is_refused_says_why(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "batch")
    repository.stack("dev", DEV | {"graph": {"decode": {"maxBatchSize": 256}}})
    done = repository.diff("batch")
    repository.git("checkout", "--quiet", "--force", "batch")
    assert done.returncode == 1
    *progress, error = done.stderr.splitlines(keepends=True)
    assert [line.partition(":")[0] for line in progress] == [f"{number} of 4" for number in range(1, 5)]
    assert {line.partition("evaluated ")[2].strip() for line in progress} == {
        f"{stack} of {where}" for stack in ("dev", "other") for where in ("batch", "the working tree")
    }
    assert error == (
        "error: --stack dev: it cannot be synthesised: dynamo-gpt-oss:graph.decode.maxBatchSize: 256 is above 128, "
        "the largest batch that target trtllm-disagg-b200 captures CUDA graphs for\n"
    )
