"""Waiting for objects, and what is said about one that will not become ready."""

from collections.abc import Callable, Sequence

import pytest

from embedded.processes import Report
from ops.deploy.wait import FINAL_SECONDS, POLL_SECONDS, NotReadyError, Waiter
from ops.watch.reasons import Reason
from tests.ops.deploy.clusters import Cluster, Object, obj

GRAPH = obj("DynamoGraphDeployment", "g", annotations={"pulumi.com/waitFor": "condition=Ready"})


def graph(status: str = "False", message: str = "", seen: int = 1) -> Object:
    condition = {"type": "Ready", "status": status, "message": message}
    return GRAPH | {"status": {"conditions": [condition], "observedGeneration": seen}}


def job(condition: str | None = None, message: str = "") -> Object:
    conditions = [{"type": condition, "status": "True", "message": message}] if condition else []
    return obj("Job", "model-download", status={"conditions": conditions})


def waiter(
    cluster: Cluster, said: Report, why: Callable[[], Sequence[Reason]] = lambda: (), timeout: float = 60
) -> Waiter:
    return Waiter(cluster, said, why=why, timeout=timeout, clock=cluster.clock, sleep=cluster.sleep)


def wait(
    there: Callable[[float], Sequence[Object]], target: Object = GRAPH, timeout: float = 60
) -> tuple[Cluster, list[str]]:
    cluster, said = Cluster(there), list[str]()
    waiter(cluster, said.append, timeout=timeout)(target)
    return cluster, said


def test_what_is_ready_already_is_not_asked_for_again() -> None:
    cluster, _ = wait(lambda _: (), graph("True"))
    assert cluster.asked == []


def test_an_object_that_asks_for_nothing_is_not_looked_at() -> None:
    cluster, _ = wait(lambda _: (), obj("ConfigMap", "engine"))
    assert cluster.asked == []


def test_it_returns_when_the_condition_holds_and_says_each_message_once() -> None:
    def there(seconds: float) -> list[Object]:
        return [graph("True") if seconds >= 3 else graph(message="prefill" if seconds < 1 else "decode")]

    cluster, said = wait(there)
    assert cluster.seconds == 3
    assert said == [
        "wait for dynamographdeployment/g: prefill",
        "wait for dynamographdeployment/g: decode",
    ]


def test_a_condition_of_the_generation_before_does_not_count() -> None:
    cluster, _ = wait(lambda seconds: [graph("True", seen=1 if seconds >= 2 else 0)])
    assert cluster.seconds == 2


def test_after_its_time_the_last_message_is_the_reason() -> None:
    with pytest.raises(NotReadyError) as late:
        wait(lambda _: [graph(message="decode is starting")], timeout=10)
    assert str(late.value) == "dynamographdeployment/g is not Ready after 10 s: decode is starting"


def test_a_job_is_waited_for_until_it_is_complete() -> None:
    cluster, _ = wait(lambda seconds: [job("Complete") if seconds >= 1 else job()], job())
    assert cluster.seconds == 1


def test_a_job_that_failed_is_not_waited_for() -> None:
    with pytest.raises(NotReadyError, match=r"^job/model-download failed: BackoffLimitExceeded$"):
        wait(lambda _: [job("Failed", "BackoffLimitExceeded")], job())


@pytest.mark.parametrize("of", ["", "g"])
def test_what_nothing_will_change_ends_the_wait(of: str) -> None:
    cluster = Cluster(lambda _: [graph()])
    why = [Reason("decode", "no GPU is free", final=True, of=of)]
    with pytest.raises(NotReadyError, match=r"^decode: no GPU is free$"):
        waiter(cluster, print, lambda: why)(GRAPH)
    assert cluster.seconds == FINAL_SECONDS, "a node may just be joining"


@pytest.mark.parametrize(
    "reason",
    [Reason("decode", "no node yet", of="g"), Reason("job", "failed", final=True, of="other")],
    ids=["may change", "of another object"],
)
def test_other_reasons_do_not(reason: Reason) -> None:
    cluster = Cluster(lambda seconds: [graph("True" if seconds > 20 else "False")])
    waiter(cluster, print, lambda: [reason])(GRAPH)
    assert cluster.seconds > 20


def test_a_reason_ends_the_wait_only_where_a_later_look_confirms_it() -> None:
    cluster = Cluster(lambda seconds: [graph("True" if seconds > 40 else "False")])

    looks = {-10: 2, -4: 9, 4: 20, 20: 50}  # by when they began: until when each is the last

    def why() -> list[Reason]:
        looked = next(began for began, until in looks.items() if cluster.seconds < until)
        return [Reason("decode", "no GPU is free", final=True, of="g", looked=looked)]

    with pytest.raises(NotReadyError, match=r"^decode: no GPU is free$"):
        waiter(cluster, print, why)(GRAPH)
    assert cluster.seconds == 20


def test_one_reason_after_another_is_none() -> None:
    cluster = Cluster(lambda seconds: [graph("True" if seconds > 20 else "False")])

    def why() -> list[Reason]:
        part = "kwok" if cluster.seconds % FINAL_SECONDS < FINAL_SECONDS / 2 else "operator"
        return [Reason(part, "has ended", final=True)]

    waiter(cluster, print, why)(GRAPH)
    assert cluster.seconds > 20


def test_a_reason_that_goes_away_in_time_is_none() -> None:
    cluster = Cluster(lambda seconds: [graph("True" if seconds > 20 else "False")])
    final = Reason("decode", "no GPU is free", final=True, of="g")

    def why() -> list[Reason]:
        joined = cluster.seconds % FINAL_SECONDS == FINAL_SECONDS - POLL_SECONDS
        return [] if joined else [final]

    waiter(cluster, print, why)(GRAPH)
    assert cluster.seconds > 20
