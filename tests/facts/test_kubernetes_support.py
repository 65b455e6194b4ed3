"""When a Kubernetes release costs more, on days of our choosing: no test fails because time passes."""

from datetime import date

import pytest

from facts import versions
from facts.kubernetes_support import STANDARD_SUPPORT_ENDS, in_extended_support, support_note


@pytest.mark.parametrize(("version", "day", "extended"), [
    ("1.34", date(2026, 12, 1), False),
    ("1.34", date(2026, 12, 2), True),
    ("1.33", date(2026, 11, 22), True),
    ("1.99", date(2099, 1, 1), False),
])  # fmt: skip
def test_the_day_from_which_it_costs_more(version: str, day: date, extended: bool) -> None:
    assert in_extended_support(version, day) is extended


def test_there_is_notice_of_sixty_days() -> None:
    assert support_note("1.34", date(2026, 10, 2), extended=False) is None
    assert support_note("1.34", date(2026, 10, 4), extended=False) == (
        "cluster.version: Kubernetes 1.34 leaves EKS's standard support on 2026-12-02; from then on AWS upgrades the "
        "cluster by itself. Set it to a newer release (1.35 has the latest known end), one minor version at a time"
    )
    late = support_note("1.33", date(2026, 11, 22), extended=True)
    assert late is not None
    assert "left EKS's standard support on 2026-07-29; from then on it costs 0.60 instead of 0.10 USD" in late


def test_the_default_release_has_a_known_end() -> None:
    assert versions.KUBERNETES in STANDARD_SUPPORT_ENDS
