"""Faults in `up` and `down`, a few of those that `python -m tests.embedded.faults` does by the hour."""

import json

import pytest

from embedded import cluster
from manifests.kubectl import label
from manifests.names import MANAGED_BY
from ops.evaluate import evaluate
from ops.synth import manifests
from tests.embedded.faults import remains
from tests.embedded.faults.__main__ import Round, rounds, table
from tests.embedded.faults.remains import Remains
from tests.embedded.faults.stage import STACK, stage
from tests.project import PROJECT

pytestmark = pytest.mark.xdist_group("deploy")


def test_what_is_lost_or_orphaned_is_found_and_the_plain_verbs_mend_it() -> None:
    with stage({}) as place:
        assert not place.converge()
        names = [label(each.inputs) for each in manifests(evaluate(PROJECT, remains.stack_of(STACK).file))]
        lost = next(name for name in names if name.startswith("configmap/"))

        def kubectl(*words: str) -> None:
            cluster.kubectl(*words, "--namespace=dynamo", state=place.state)

        kubectl("create", "configmap", "orphan")
        kubectl("label", "job/model-download", *(f"{key}=another" for key in MANAGED_BY), "--overwrite")
        assert remains.after_up([STACK], place.state).orphaned == ["configmap/orphan"]
        assert "conflict" in str(remains.after_up([STACK], place.state).lost)
        kubectl("delete", lost)
        assert remains.after_up([STACK], place.state).lost == [lost]
        kubectl("delete", "configmap", "orphan")
        assert not place.converge()
        before = remains.ports([each.pid for each in remains.of_folder(place.state)])
        left = remains.after_down(place.state, before).orphaned
        assert f"folder {place.state}" in left
        assert sum(each.startswith("port ") for each in left) >= 3
        assert sum(each.startswith("process ") for each in left) >= len(remains.DAEMONS)
        assert not place.leave()


@pytest.mark.parametrize("kind", ["etcd", "stacks"])
def test_a_fault_is_mended(kind: str) -> None:
    (done,) = rounds(0, 1, 1122, kind)
    assert not done.remains, json.dumps(done.said, indent=1)
    assert done.faults


def test_a_round_that_failed_counts_in_the_table() -> None:
    well = Round(0, "kill", 3, Remains(), ())
    badly = Round(1, "kill", 2, Remains(["configmap/one"], ["process 7"]), ())
    assert [*table([well, badly])] == [
        "kind         rounds faults converged  lost orphaned",
        "kill              2      5         3     1        1",
        "faults 5, converged 3, lost 1, orphaned 1",
    ]
