"""The data plane beside Dynamo's mocker: the real frontend in front of both engines."""

import pytest

from benchmarks import dataplane
from embedded.dynamo import unavailable
from facts.releases import DEFAULT


@pytest.mark.skipif(bool(unavailable(DEFAULT)), reason=unavailable(DEFAULT))
def test_both_engines_answer_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataplane, "REQUESTS", dataplane.AT_ONCE)
    alone, together = dataplane.figures(1)
    for figure in (alone, together):
        assert not figure.skipped
        assert figure.value and figure.ratio and figure.beside == "Dynamo's mocker"
