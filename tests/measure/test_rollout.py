"""How the measured stack came up, beside its run."""

from pathlib import Path

import pytest

from measure import report, rollout
from measure.results import Results, load
from measure.rollout import FILE, Table
from tests.measure.measured import copied

FOUND = {
    "simulated": "nodes",
    "phases": [
        {"name": "download", "assumed": 36.28, "measured": 12.0, "bound": "", "source": "Job model-download"},
        {"name": "GPU nodes", "assumed": 5.0, "measured": 2.5, "bound": "at least", "source": "node gpu-0"},
        {"name": "weights copy", "assumed": None, "measured": 1.0, "bound": "", "source": "pod x"},
        {
            "name": "platform",
            "assumed": 5.0,
            "measured": None,
            "source": None,
            "unknown": "it was there already",
        },
    ],
    "assumedFirstToken": 72.8,
    "ready": 31.0,
    "firstAnswer": {"minutes": 31.4, "source": "the verification"},
}


def test_its_table_has_a_row_a_step_and_the_ends(tmp_path: Path) -> None:
    rollout.write(FOUND, tmp_path)
    assert rollout.read(tmp_path) == Table(
        "nodes",
        (
            ("download", "36.3", "12.0", "Job model-download"),
            ("GPU nodes", "5.0", "at least 2.5", "node gpu-0"),
            ("weights copy", "–", "1.0", "pod x"),
            ("platform", "5.0", "unknown", "it was there already"),
            ("ready, since it began", "72.8", "31.0", "the frontend lists the model"),
            ("first answer, since it began", "–", "31.4", "the verification"),
        ),
    )


def test_what_is_not_known_is_not_kept(tmp_path: Path) -> None:
    rollout.write(None, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert rollout.read(tmp_path) is None


@pytest.mark.parametrize("known", [True, False])
def test_both_reports_carry_it_where_it_is_known(measured: Results, tmp_path: Path, known: bool) -> None:
    copied(measured, tmp_path / "run", {})
    rollout.write(FOUND if known else None, tmp_path / "run")
    assert (tmp_path / "run" / FILE).exists() == known
    for path in report.write(load(tmp_path / "run")):
        text = path.read_text()
        assert ("Before the first answer" in text) == known
        assert ("at least 2.5" in text) == known
