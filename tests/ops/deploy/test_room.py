"""What a cluster has to have before anything of a stack is made."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ops.deploy import room
from ops.deploy.preflight import PreflightError
from tests.ops.watch.seen import DATA, existing

RECORDED = json.loads((DATA / "full_pool.json").read_text())


def kubectl(*arguments: str, stdin: str = "") -> str:
    """The recorded cluster, whose one B200 node is full."""
    kind = {"nodes": "Node", "storageclasses": "StorageClass"}.get(arguments[1])
    listed = RECORDED["holders"] if kind is None else RECORDED["objects"]
    items: list[dict[str, Any]] = [each for each in listed if kind in (None, each["kind"])]
    for each in items:
        each.setdefault("provisioner", "p")
        each.setdefault("spec", {})
    return json.dumps({"items": items})


def test_gpus_that_others_hold_are_told_with_who_and_how_many() -> None:
    with pytest.raises(PreflightError) as refused:
        room.check(existing(), kubectl)
    assert str(refused.value) == (
        "GPUs of pool: the stack wants 8, 0 of 8 on 1 nodes are free, taken by gpt-oss-disagg in dynamo (8); free "
        "some, name other nodes in pool.nodeSelector, or make the graph smaller (replicas, tensorParallel)"
    )


def test_a_stack_that_brings_its_nodes_needs_none_yet() -> None:
    room.check(replace(existing(), own_nodes=True), kubectl)


def test_a_storage_class_that_is_not_there_is_told_with_those_that_are() -> None:
    lacking = existing(cache={"kind": "class", "storageClass": "shared-rwx"})
    with pytest.raises(PreflightError) as refused:
        room.check(replace(lacking, own_nodes=True), kubectl)
    assert str(refused.value) == (
        "storage class: cache.storageClass: shared-rwx is not there; choose among embedded-rwx"
    )
