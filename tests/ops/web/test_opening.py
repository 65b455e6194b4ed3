"""`ops open`: which port is forwarded to what, and what is said where there is no such page."""

import sys
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from ops.kubectl import OwnKubectl
from ops.stack.cluster import RealCluster
from ops.web import opening
from ops.web.opening import OpenError, What, refuse_without_grafana
from tests.ops.stack.test_cluster import FORWARDS, kubectl
from tests.ops.stacks import stack

EXISTING: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing"},
    "platform": {"install": False},
}
OURS = {"monitoring": {"kind": "install", "namespace": "watch"}}


@pytest.mark.parametrize(
    "what, url, words",
    [
        (What.GRAFANA, "http://127.0.0.1:4321", ["watch", "service/kube-prometheus-stack-grafana", ":80"]),
        (
            What.METRICS,
            "http://127.0.0.1:4321/metrics",
            ["dynamo", "service/gpt-oss-disagg-frontend", ":8000"],
        ),
    ],
)
def test_a_port_is_forwarded_to_its_service(what: What, url: str, words: list[str], tmp_path: Path) -> None:
    program = kubectl(tmp_path, FORWARDS)
    cluster = RealCluster(stack(EXISTING | OURS), OwnKubectl((str(program),)))
    with opening._address(what, cluster) as opened:
        assert opened == url
    namespace, service, port = words
    asked = (tmp_path / "arguments").read_text().split()
    assert asked[:5] == ["port-forward", f"--namespace={namespace}", "--address=127.0.0.1", service, port]


def test_the_chat_page_talks_through_such_a_port(tmp_path: Path) -> None:
    cluster = RealCluster(stack(EXISTING), OwnKubectl((str(kubectl(tmp_path, FORWARDS)),)))
    with opening._address(What.CHAT, cluster) as opened:
        assert opened.startswith("http://127.0.0.1:") and opened.endswith("/")
        assert opened != "http://127.0.0.1:4321/"


@pytest.mark.parametrize(
    "config, embedded, why",
    [
        (
            EXISTING,
            False,
            "grafana: mine brings none; a line `dynamo-gpt-oss:monitoring: { kind: install }` in Pulumi.mine.yaml "
            "and `make up STACK=mine` do",
        ),
        (
            EXISTING | {"monitoring": {"kind": "existing", "endpoint": "http://p:9090"}},
            False,
            "grafana: mine uses the monitoring that is on its cluster; open the Grafana of that, which finds the "
            "stack's dashboards by their label",
        ),
        (
            EXISTING | OURS,
            True,
            "grafana: the embedded cluster has none, for its pods run nothing; `make open STACK=mine WHAT=metrics` "
            "shows what the graph's frontend measures",
        ),
    ],
)
def test_without_a_grafana_it_says_why(config: dict[str, Any], embedded: bool, why: str) -> None:
    with pytest.raises(OpenError) as refused:
        refuse_without_grafana(stack(config, embedded=embedded))
    assert str(refused.value) == why
    refuse_without_grafana(stack(EXISTING | OURS))


@pytest.mark.parametrize("display, opened", [("", []), (":0", ["http://127.0.0.1:1/"])])
def test_a_browser_is_opened_where_there_is_a_display(
    display: str,
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setattr(webbrowser, "open", asked.append)
    opening.show("http://127.0.0.1:1/", browser=True)
    opening.show("http://127.0.0.1:2/", browser=False)
    assert asked == opened
    assert capsys.readouterr().out.split() == ["http://127.0.0.1:1/", "http://127.0.0.1:2/"]
