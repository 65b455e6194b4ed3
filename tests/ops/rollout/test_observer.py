"""Looks are merged, read for what engines say, and kept."""

import json
from pathlib import Path

from ops.kept import Kept, path_of
from ops.kubectl import KubectlError
from ops.rollout.observed import Observed
from ops.rollout.observer import Observer, kept
from tests.ops.rollout.rollouts import at, container, graph, pod, whole, worker
from tests.ops.watch.seen import existing

STACK = existing()
LOG = """\
2026-11-22T17:22:10.5Z some other line
2026-11-22T17:25:00.123456789Z INFO Model loading took 31.2 GiB memory and 182.50 seconds
ut off in the middle
"""
CHECKED = """\
2026-11-22T17:31:20Z ok         ready            0.10 s  2 workers
2026-11-22T17:31:24Z ok         chat             3.52 s  17 tokens
"""


class Logs:
    """kubectl that knows logs by pod."""

    def __init__(self, **logs: str) -> None:
        self.logs = logs
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        self.asked.append(arguments)
        name = arguments[1].removeprefix("pod/").replace("-", "_")
        if name not in self.logs:
            raise KubectlError("not found")
        return self.logs[name]


def test_looks_are_merged_from_the_first_on() -> None:
    observer = Observer(at(-1))
    observer([graph(ready=None), worker(ready=None)])
    observer([graph(), worker()])
    assert observer.seen.began == at(-1)
    assert observer.seen.graphs["g1"].ready == at(31)


def test_an_up_that_makes_the_graph_anew_began_it() -> None:
    observer = Observer(at(-1))
    observer([graph(made=-500, ready=-480, uid="old"), worker()])
    observer.block_began(at(3))
    observer([graph()])
    assert list(observer.seen.graphs) == ["g1"]
    assert (observer.seen.began, observer.seen.block) == (at(-1), at(3))


def test_logs_of_engines_and_checks_are_read_from_their_begin() -> None:
    labels = {"batch.kubernetes.io/job-name": "gpt-oss-disagg-verify"}
    verify = pod("verify-x", container("verify", "python", 31), gpus=0, labels=labels)
    observer, logs = Observer(), Logs(decode_0=LOG, verify_x=CHECKED)
    observer([graph(), worker(), verify, worker("decode-1")])
    observer.read_logs(logs, "ns")
    found = sorted((line.pod, line.text.split("  ")[0]) for line in observer.seen.lines.values())
    assert found == [
        ("decode-0", "INFO Model loading took 31.2 GiB memory and 182.50 seconds"),
        ("verify-x", "ok"),
    ]
    assert logs.asked[0] == (
        "logs", "pod/decode-0", "--namespace=ns", "--container=main", "--timestamps", "--limit-bytes=8000000"
    )  # fmt: skip


def test_it_is_kept_with_what_was_kept_before(tmp_path: Path) -> None:
    assert kept("mine", tmp_path) == Observed()
    for objects in (whole(), [graph()]):
        observer = Observer()
        observer(objects)
        observer.keep(STACK, tmp_path)
    assert kept("mine", tmp_path).pods["decode-0"].ready == at(30.8)


def test_a_look_that_found_nothing_keeps_nothing(tmp_path: Path) -> None:
    Observer(at(0)).keep(STACK, tmp_path)
    assert not path_of(Kept.ROLLOUT, "mine", tmp_path).exists()


def test_what_cannot_be_read_any_more_is_nothing(tmp_path: Path) -> None:
    path = path_of(Kept.ROLLOUT, "mine", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"time": "x", "simulated": "", "observed": {"pods": [1]}}))
    assert kept("mine", tmp_path) == Observed()
