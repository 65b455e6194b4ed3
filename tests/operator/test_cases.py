"""Every target in every release, and every option, on a real operator: admitted, Ready, rolled, renamed, deleted."""

from collections.abc import Callable

import pytest

from tests.operator.cases import Case, cases
from tests.operator.conftest import Walks
from tests.operator.release import Release, releases

ASKED = [(release, case) for release in releases() for case in cases(release.line)]
IDS = [f"{release.line}-{case.name}" for release, case in ASKED]


@pytest.mark.operator
@pytest.mark.parametrize(("release", "case"), ASKED, ids=IDS)
def test_a_case_is_admitted_ready_and_rolls(
    walks: Walks, release: Release, case: Case, record_property: Callable[[str, object], None]
) -> None:
    def came_to(what: str) -> None:
        record_property("outcome", f"{release.line}: {what}")

    came_to("cases")
    if case.is_taken():
        walks.end(release, case, came_to)
    else:
        came_to("refused by the project")
