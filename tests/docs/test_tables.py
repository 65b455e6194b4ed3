"""Tables of facts in written pages are those of the code."""

import pytest

from docs.generate import tables
from targets.catalogue import TARGETS

PAGES = sorted(page.name for page in tables.DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_of_a_page_are_up_to_date(page: str) -> None:
    text = (tables.DOCS / page).read_text()
    assert tables.written(text) == text, "run `python -m docs.generate.tables`"


def test_every_table_stands_in_a_page() -> None:
    text = "".join((tables.DOCS / page).read_text() for page in PAGES)
    assert {name for name in tables.TABLES if f"<!-- table {name}: " not in text} == set()


def test_every_target_is_for_something() -> None:
    assert {*tables.MADE_FOR} == {*TARGETS}


def test_figures_are_the_source_s_or_said_not_to_be_published() -> None:
    """For each target that is measured, and for all others with GPUs."""
    rows = {row.split("`")[1]: row for row in tables.measured().splitlines()[2:]}
    assert {name for name, row in rows.items() if "not published" not in row} == {*tables.MEASURED}
    assert {*rows} == {name for name, target in TARGETS.items() if target.gpu_models}
    b200 = rows["vllm-agg-agentic-b200"]
    assert b200.startswith("| 8 × B200 | ") and b200.endswith(" | 113.93 | 512 | 2,896 | 58 | 4.4 s |")


def test_the_table_of_targets_says_what_is_paid_and_not_used() -> None:
    rows = {row.split("`")[1]: row for row in tables.targets().splitlines()[2:]}
    assert (
        "| 9 × p6e-gb200.36xlarge | no list price: say yours in `prices` | 4 of 36 GB200 |"
        in rows["trtllm-agg-gb200"]
    )
    assert "| 1 × p6-b200.48xlarge | 113.93 | 5 of 8 B200 |" in rows["trtllm-disagg-8k"]
