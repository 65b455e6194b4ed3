"""What is made of measurements."""

import pytest

from benchmarks.figures import Figure, exponent, table


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_the_exponent_of_a_power_is_its_own(power: float) -> None:
    sizes = [1, 2, 4, 64]
    assert exponent(sizes, [3 * size**power for size in sizes]) == pytest.approx(power)


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (Figure(name="a", value=9.0, ratio=1.5, most=1.5), True),
        (Figure(name="a", value=0.1, ratio=1.6, most=1.5), False),
        (Figure(name="a", value=2.9, ratio=7.0, most=3.0, of_value=True), True),
        (Figure(name="a", value=3.1, ratio=0.1, most=3.0, of_value=True), False),
        (Figure(name="a", value=1.2, most=1.1), False),
        (Figure(name="a", value=1.0), None),
        (Figure(name="a", most=1.1, skipped="skipped: none there"), None),
    ],
)
def test_a_target_is_for_the_ratio_unless_it_is_said_to_be_for_the_value(
    figure: Figure, met: bool | None
) -> None:
    assert figure.met is met


def test_the_table_says_what_is_met_and_what_was_skipped() -> None:
    header, *lines = table(
        [
            Figure(name="synth dev", value=0.9, unit="s CPU", ratio=1.4, beside="its SDKs", most=1.5),
            Figure(name="up", value=3.5, unit="s", ratio=2.0, beside="kubectl", most=3, of_value=True),
            Figure(name="exponent", value=0.98, most=1.1),
            Figure(name="pulumi", skipped="skipped: none on PATH"),
        ]
    )
    assert header.split() == ["figure", "value", "ratio", "beside", "target"]
    assert [line.split("  ")[0] for line in lines] == ["synth dev", "up", "exponent", "pulumi"]
    assert [line.split("  ")[-1] for line in lines] == ["met", "not met", "met", "skipped: none on PATH"]
    assert "1.40×" in lines[0]
    assert "≤ 1.5×" in lines[0]
    assert "≤ 3 s" in lines[1]


def test_the_history_keeps_what_was_said() -> None:
    figure = Figure(name="synth dev", value=0.9, unit="s CPU", ratio=1.4, most=1.5)
    assert figure.data() == {
        "name": "synth dev", "value": 0.9, "unit": "s CPU", "ratio": 1.4, "most": 1.5, "met": True,
    }  # fmt: skip
    assert Figure(name="a", skipped="no").data() == {"name": "a", "skipped": "no"}
