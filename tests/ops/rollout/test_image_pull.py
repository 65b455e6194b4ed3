"""The kubelet's words about images."""

import pytest

from ops.rollout.image_pull import Pull, pull
from tests.ops.rollout.rollouts import IMAGE, at, event, pulled


def read(reason: str, message: str) -> Pull:
    found = pull(event(reason, message, 3))
    assert found is not None
    return found


def test_a_pull_says_its_image_its_size_and_how_long_it_took() -> None:
    assert pull(pulled(3)) == Pull(
        pod="decode-0", node="gpu-0", at=at(3), ended=True, image=IMAGE, seconds=252.0, size=21_300_000_000
    )


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ('Successfully pulled image "a/b:1" in 243ms (243ms including waiting). Image size: 2156518 bytes.', 0.243),
        ('Successfully pulled image "a/b:1" in 1h2m3.5s (1h10m0s including waiting). Image size: 9 bytes.', 3723.5),
        ('Successfully pulled image "a/b:1" in 2.5s (2.6s including waiting)', 2.5),  # before Kubernetes 1.30
        ('Successfully pulled image "a/b:1" in 2.5s', 2.5),
    ],
)  # fmt: skip
def test_durations_are_gos_own_without_the_queue(words: str, seconds: float) -> None:
    assert read("Pulled", words).seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    "words",
    [
        'Container image "a/b:1" already present on machine',
        'Container image "a/b:1" already present on machine and can be accessed by the pod',
    ],
)
def test_an_image_that_was_there_was_not_pulled(words: str) -> None:
    found = read("Pulled", words)
    assert (found.image, found.present, found.seconds) == ("a/b:1", True, None)


def test_a_begin_is_no_end() -> None:
    found = read("Pulling", 'Pulling image "a/b:1"')
    assert (found.image, found.ended) == ("a/b:1", False)


def test_other_events_are_left_out() -> None:
    assert pull(event("Started", "Started container main", 3)) is None
    of_job = event("Pulled", "x", 3)
    of_job["involvedObject"]["kind"] = "Job"
    assert pull(of_job) is None


def test_words_that_were_counted_have_the_time_of_the_first() -> None:
    counted = pulled(3)
    counted["lastTimestamp"] = "2026-11-22T18:00:00Z"
    found = pull(counted)
    assert found is not None
    assert found.at == at(3)
