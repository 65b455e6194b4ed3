"""The table of what stacks pay before the first token."""

from docs.generate.rollouts import HEAD, STACKS, limits, rows
from ops.timeline import simulate
from tests.project import PROJECT


def test_each_stack_is_shown_with_what_it_could_say() -> None:
    shown = {row[0].strip("`"): dict(zip(HEAD, row, strict=True)) for row in rows(PROJECT)}
    assert tuple(shown) == STACKS
    for row in shown.values():
        columns = (
            "of the published order",
            "with `localCopy: node`",
            "with that and `image.mirror`",
            "with no copy",
        )
        shipped, node, near, none = (float(row[key].rstrip("%")) for key in columns)
        assert near < node < shipped < none
        halved, doubled = (float(each) for each in row[HEAD[-1]].partition(": ")[2].split(", "))
        assert halved < float(row["minutes, as shipped"]) < doubled
    assert shown["disagg-b200"]["begun with its block"] == "–"
    assert shown["prod"]["begun with its block"].endswith("%")


def test_no_setting_of_a_prepared_block_goes_below_the_limit() -> None:
    instant = simulate(PROJECT, "prod", ["image-rate=1e9", "parallel-image-rate=1e9", "copy-rate=1e9"])
    least, published = instant.ours.paid_minutes, simulate(PROJECT, "prod", []).published.paid_minutes
    said = limits().replace("\n", " ")
    assert f"alone are {least:.1f} of {published:.1f} minutes" in said
    assert f"less than {least / published:.0%}:" in said
