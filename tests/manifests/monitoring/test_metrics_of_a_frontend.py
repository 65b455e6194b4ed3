"""Metric names against a running Dynamo frontend and its workers (simulated engines): what it says it publishes."""

import json
import re
import urllib.request

import yaml

from tests.live import DISAGGREGATED, MODEL, DataPlane
from tests.project import PROJECT
from tests.waiting import PATIENCE

FAMILIES = yaml.safe_load((PROJECT / "tests" / "manifests" / "data" / "metrics.yaml").read_text())


def ask(url: str) -> None:
    """One completion: families appear with the first request."""
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Hello"}],
        "max_tokens": 4,
        "stream": True,
    }
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        assert response.status == 200
        response.read()


def published(url: str) -> dict[str, str]:
    """Type by family name, from the `# TYPE` lines."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=PATIENCE) as response:
        return dict(re.findall(r"^# TYPE (\S+) (\S+)$", response.read().decode(), re.MULTILINE))


def test_a_frontend_publishes_every_frontend_family_that_we_name(plane: DataPlane) -> None:
    url = plane.url(DISAGGREGATED)
    ask(url)
    types = published(url)
    for kind in ("counter", "gauge", "histogram"):
        ours = {
            name
            for family in FAMILIES
            for name in family.get(f"{kind}s", ())
            if name.startswith("dynamo_frontend_")
        }
        assert ours
        assert ours <= {name for name, type_ in types.items() if type_ == kind}
