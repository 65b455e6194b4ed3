"""The assumptions' arithmetic."""

from targets.assumptions import Assumptions, assume


def test_sizes_and_rates_give_minutes() -> None:
    a = Assumptions(weights_gb=60, weights_rate=100, image_gb=30, image_rate=50, copy_rate=200,
                    parallel_image_rate=100)  # fmt: skip
    assert (a.download, a.pull, a.parallel_pull, a.copy) == (10, 10, 5, 5)


def test_what_is_not_overridden_is_the_stacks_own() -> None:
    assert assume(["load=10"], Assumptions(copy_rate=500)) == Assumptions(load=10, copy_rate=500)
