"""Every verb of `ops` with a real CLI: it looks where `pulumi` itself looks, says where that is, and makes nothing.

Simulated: the cluster's nodes. Two stacks are on it, both by plain `pulumi up`: `dev`, as it is shipped, and `there`,
which knows the cluster as an output of a third stack.
"""

import json
import re
import signal
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from embedded import cluster
from ops import __main__ as verbs
from ops import bench
from tests.engine.conftest import Engine
from tests.engine.copied_project import Copy, Done

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]
CLUSTER = "organization/infra/prod"
SIGNED_OUT = "Pulumi is not logged in, so no stack can be found: run `pulumi login`"
NO_WORKERS = "error: cannot forward a port to service/gpt-oss-disagg-frontend"
"""What a verb that talks to the graph of `there` ends with: no pod of the cluster runs anything."""
INFRA = """
import pathlib, pulumi
pulumi.export("kubeconfig", pulumi.Output.secret(pathlib.Path("../project/.embedded/kubeconfig").read_text()))
"""


@dataclass(frozen=True)
class Verb:
    """arguments: of a call. asks: for which stack it asks Pulumi. says: what shows that it found it. code: its exit."""

    arguments: tuple[str, ...]
    asks: str | None = "there"
    says: str = ""
    code: int = 0

    def place(self, backend: str) -> str:
        """How the stack is named."""
        if self.asks == CLUSTER:
            return f"Pulumi: stack prod of organization organization in {backend}"
        return (
            f"Pulumi: {self.asks} in {backend}"
            if self.asks == "stacks"
            else f"stack {self.asks} in {backend}"
        )


THERE = ("--stack", "there")
VERBS = {
    "status": Verb(("status", *THERE), says="there on a cluster of kind stack: ready, for "),
    "up": Verb(("up", *THERE), says="there: 0 changes ("),
    "verify": Verb(("verify", *THERE), asks=CLUSTER, says=NO_WORKERS, code=1),
    "chat": Verb(("chat", *THERE, "--once=hi"), asks=CLUSTER, says=NO_WORKERS, code=1),
    "logs": Verb(("logs", "decode", *THERE), asks=CLUSTER, says="error: kubectl logs ended with 1", code=1),
    "open": Verb(("open", "metrics", *THERE, "--no-browser"), asks=CLUSTER, says=NO_WORKERS, code=1),
    "doctor": Verb(("doctor", *THERE), says="the stack wants 8, 8 of 8 on 1 nodes are free"),
    "bench": Verb(("bench", *THERE, "--minutes=0.01"), says="there stays up: ", code=1),
    "bench run": Verb(("bench", "run", *THERE, "--minutes=0.01"), says="there stays up: ", code=1),
    "reap": Verb(("reap",), asks="stacks", says="nothing is due"),
    "init": Verb(
        ("init", "there"), asks=None, says="error: STACK: Pulumi.there.yaml is there already", code=1
    ),
    "let-in": Verb(("let-in", "--stack=smoke"), asks="smoke"),
    "timeline --measured": Verb(("timeline", *THERE, "--measured"), asks=CLUSTER, says="as it happened"),
    "down": Verb(("down", *THERE), says="there is down after"),
    "synth": Verb(("synth", *THERE, "--format=yaml"), asks=None, says="kind: DynamoGraphDeployment"),
    "timeline": Verb(("timeline", *THERE), asks=None, says="first token"),
    "report": Verb(("report", *THERE), asks=None, says="out/there/report.html"),
    "cost": Verb(("cost", *THERE), asks=None, says="there makes nothing that is paid by the hour"),
    "leftovers": Verb(("leftovers", *THERE), asks=None, says="there makes nothing on AWS"),
    "diff": Verb(("diff", "--base=HEAD"), asks=None, says="error: --base", code=1),
    "bench command": Verb(("bench", "command", *THERE), asks=None, says="aiperf profile"),
    "bench compare": Verb(("bench", "compare", "one"), asks=None, says="compare takes two runs", code=1),
    "bench gate": Verb(("bench", "gate", "--against=none"), asks=None, says="error: none", code=1),
}
"""In the order in which they are called, `down` last of those that need the stack."""
ASKING = [name for name, verb in VERBS.items() if verb.asks]


@pytest.fixture(scope="module")
def copy(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    made = Copy(tmp_path_factory.mktemp("copy"), engine)
    made.stack_file("dev", "dev")
    made.stack_file("smoke", "smoke")
    there = {"kind": "stack", "stack": CLUSTER, "namespace": "there", "efa": False}
    for name in ("there", "absent"):
        made.stack_file(name, "dev", target="vllm-disagg-h100", cluster=there)
    infra = made.folder.parent / "infra"
    infra.mkdir()
    (infra / "__main__.py").write_text(INFRA)
    runtime = f"{{name: python, options: {{virtualenv: {made.folder / '.venv'}}}}}"
    (infra / "Pulumi.yaml").write_text(f"name: infra\nruntime: {runtime}\n")
    backend(made).mkdir()
    try:
        made.start_cluster()
        made.pulumi("login", backend(made).as_uri())
        for name, folder in (("prod", infra), ("dev", made.folder), ("there", made.folder)):
            made.pulumi("stack", "init", name, folder=folder)
            made.pulumi("up", "--stack", name, "--yes", "--skip-preview", folder=folder)
        made.pulumi("stack", "init", "smoke")
        yield made
    finally:
        cluster.stop(print, made.state)


def backend(copy: Copy) -> Path:
    return copy.folder.parent / "backend"


def stacks(copy: Copy) -> str:
    """As `pulumi stack ls` has them: names, and which one is selected."""
    lines = copy.pulumi("stack", "ls", "--all").splitlines()
    return " ".join(line.split()[0] for line in lines)


def said(done: Done) -> str:
    return done.stdout + done.stderr


def test_every_verb_has_its_row() -> None:
    verbs._add_verbs(None)
    group = typer.main.get_command(verbs.app)
    measuring = typer.main.get_command(bench.app)
    known = set(group.commands) | {f"bench {name}" for name in measuring.commands}  # type: ignore[attr-defined]
    assert known == {name.partition(" --")[0] for name in VERBS}


def test_the_stack_on_the_embedded_cluster(copy: Copy) -> None:
    """Its state is where `pulumi up` put it, not in the cluster's folder as `make up` would have it."""
    place = f"Pulumi: stack dev in {backend(copy).as_uri()}"
    status = copy.ops("status", "--stack", "dev")
    assert place in status.stderr
    assert "dev on the embedded cluster: ready, for " in status.stdout
    again = copy.ops("up", "--stack", "dev")
    assert place in again.stdout
    assert "dev: 0 changes (" in again.stdout, said(again)
    assert "it answers as it should" in copy.ops("verify", "--stack", "dev").stdout
    logs = copy.ops("logs", "frontend", "--stack", "dev", "--tail=3")
    assert logs.stdout.startswith("[frontend] "), said(logs)
    assert "simulated: engines" in logs.stderr
    opens = copy.begin("open", "chat", "--stack", "dev", "--no-browser")
    try:
        assert opens.stdout
        page = opens.stdout.readline().strip()
        with urllib.request.urlopen(f"{page}about") as about:
            assert json.load(about)["graph"] == "gpt-oss-disagg"
    finally:
        opens.send_signal(signal.SIGINT)
    assert opens.wait(30) == 0
    served = copy.ops("status", "--stack", "dev").stdout
    assert re.search(
        r"^[1-9]\d* to delete$", copy.ops("down", "--stack", "dev", "--dry-run").stdout, re.MULTILINE
    )
    still = copy.ops("status", "--stack", "dev").stdout
    assert still.splitlines()[1:] == served.splitlines()[1:], "all but its age"
    data = json.loads(copy.ops("status", "--stack", "dev", "--json").stdout)
    assert (data["deployed"], data["ready"], data["reasons"]) == (True, True, [])
    copy.pulumi("logout")
    for verb in ("status", "up", "down"):
        done = copy.ops(verb, "--stack", "dev")
        assert done.returncode == 1
        assert f"error: {SIGNED_OUT}" in done.stderr
    copy.pulumi("login", backend(copy).as_uri())
    down = copy.ops("down", "--stack", "dev")
    assert "embedded cluster: keeps running for what is left on it" in down.stdout, said(down)
    assert copy.ops("status", "--stack", "dev").stdout == "dev is not deployed\n"
    missing = copy.ops("down", "--stack", "dev")
    assert missing.returncode == 1
    assert missing.stderr == "error: --stack: there is no stack dev on the embedded cluster\n"


@pytest.mark.parametrize("verb", ASKING)
def test_without_a_login_it_says_so_in_one_sentence(copy: Copy, verb: str) -> None:
    copy.pulumi("logout")
    done = copy.ops(*VERBS[verb].arguments)
    copy.pulumi("login", backend(copy).as_uri())
    assert done.returncode == 1
    assert SIGNED_OUT in said(done)
    assert "Traceback" not in said(done)
    assert len([line for line in done.stderr.splitlines() if line.startswith("error:")]) <= 1


def test_an_up_that_has_no_block_to_wait_for_is_refused_before_pulumi_is_asked(copy: Copy) -> None:
    done = copy.ops("up", *THERE, "--wait-for-block")
    assert done.returncode == 1
    assert "error: --wait-for-block: no pool of there is bought as a Capacity Block" in done.stderr
    assert "Pulumi:" not in said(done)


@pytest.mark.parametrize("verb", ["down", "status"])
def test_a_stack_that_is_not_there_is_refused_and_not_made(copy: Copy, verb: str) -> None:
    before = sorted(backend(copy).rglob("*")), stacks(copy)
    done = copy.ops(verb, "--stack", "absent")
    assert done.returncode == 1
    assert f"error: --stack: there is no stack absent in {backend(copy).as_uri()}; " in done.stderr
    assert (sorted(backend(copy).rglob("*")), stacks(copy)) == before


@pytest.mark.parametrize("verb", VERBS)
def test_it_finds_what_plain_pulumi_deployed(copy: Copy, verb: str) -> None:
    row, before = VERBS[verb], stacks(copy)
    done = copy.ops(*row.arguments)
    assert done.returncode == row.code, said(done)
    assert row.says in said(done)
    if row.asks:
        assert row.place(backend(copy).as_uri()) in said(done)
    else:
        assert "Pulumi:" not in said(done)
    wanted = before.replace(" there", "") if verb == "down" else before
    assert stacks(copy) == wanted, "what is selected, and what there is, stays"
