"""The rows of a stack that comes up."""

from typing import Any

from ops.watch.made import Made
from ops.watch.reasons import Reason, reasons
from ops.watch.snapshot import Snapshot
from ops.watch.view import Mark, Row, View, view
from tests.ops.watch.seen import existing, pod, recorded, seen


def shown(found: Snapshot, *why: Reason, made: Made | None = None) -> View:
    return view(found, why, existing().plan, embedded=True, made=made)


def rows(found: Snapshot, *why: Reason) -> dict[str, Row]:
    return {row.subject: row for row in shown(found, *why).rows}


def test_a_stack_without_gpus_as_it_was_recorded() -> None:
    found = recorded("full_pool")
    why = reasons(found, existing().plan, nodes_join=False)
    seen_rows = shown(found, *why, made=Made(7)).rows
    assert [(row.subject, row.mark, row.text) for row in seen_rows] == [
        ("resources", Mark.GOING, ""),
        ("claim model-cache", Mark.DONE, "bound, 100Gi of class embedded-rwx"),
        ("weights", Mark.DONE, "Complete"),
        ("nodes of pool", Mark.DONE, "1 ready of 1 × p6-b200.48xlarge, 8 GPUs (simulated)"),
        ("frontend gpt-oss-disagg-frontend-b64d5b44-glrk7", Mark.DONE, "ready on cpu-0"),
        (
            "worker gpt-oss-disagg-trtllmworkers-ba066914-5f7794779-pqkbz",
            Mark.STUCK,
            "waits for a node, 8 simulated GPUs",
        ),
        ("graph gpt-oss-disagg", Mark.GOING, "not ready"),
        ("spent", Mark.PLAIN, ""),
    ]


def job(name: str, state: str | None = None) -> dict[str, Any]:
    conditions = [{"type": state, "status": "True"}] if state else []
    return {"kind": "Job", "metadata": {"name": name}, "status": {"conditions": conditions}}


def test_bytes_of_the_weights_and_their_rate_come_from_the_log() -> None:
    logs = {"model-download": ("12:00:00 downloading x", "12:01:00 12.3 of 65.2 GB, 31 MB/s")}
    row = rows(seen(job("model-download"), logs=logs))["weights"]
    assert (row.mark, row.detail) == (Mark.GOING, "12.3 of 65.2 GB, 31 MB/s")
    done = rows(seen(job("model-download", "Complete"), logs=logs))["weights"]
    assert (done.mark, done.detail) == (Mark.DONE, "")


def test_the_gates_checks_come_from_its_log() -> None:
    lines = (
        "ok         ready            0.10 s  lists it",
        "failed     chat             1.20 s  HTTP 500",
        "  means: x",
    )
    row = rows(seen(job("g-verify", "Failed"), logs={"g-verify": lines}))["verification g"]
    assert (row.mark, row.text) == (Mark.STUCK, "Failed: 2 checks, failed chat")
    row = rows(seen(job("g-verify"), logs={"g-verify": lines[:1]}))["verification g"]
    assert (row.mark, row.text, row.detail) == (Mark.GOING, "Running: 1 checks", "last ready")


def test_many_pods_are_a_row_a_role() -> None:
    many = [pod(f"d-{number}", conditions=[{"type": "Ready", "status": "True"}]) for number in range(12)]
    found = rows(seen(*many, pod("late", node=None)))
    assert found["decode of gpt-oss-disagg"].text == "1 × waits for a node, 12 × ready"


def test_a_restart_is_told() -> None:
    again = pod(
        containerStatuses=[{"restartCount": 2, "state": {"running": {"startedAt": "2026-11-22T17:20:00Z"}}}]
    )
    assert rows(seen(again))["decode g-decode-0"].text == "loads on n1, 4 simulated GPUs, restarted 2 times"


def test_an_estimate_is_called_one() -> None:
    left = next(
        row for row in view(seen(), (), existing().plan, embedded=False).rows if row.subject == "left"
    )
    assert "an estimate" in left.detail
