"""Counting what an `up` makes."""

from ops.watch.made import Made


def test_it_says_how_many_are_there_and_what_is_being_made() -> None:
    made = Made(3)
    assert str(made) == "0 of 3"
    for name in ("a", "b", "c"):
        made.begin(name)
    assert str(made) == "0 of 3; now b, c"
    made.over("c")
    made.end("c")
    assert str(made) == "1 of 3; now a, b"
    assert not made.complete


def test_more_than_were_expected_are_no_contradiction() -> None:
    made = Made(1)
    made.end("a")
    made.end("b")
    assert str(made) == "2 of 2"
    assert made.complete
