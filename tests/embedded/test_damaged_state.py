"""State folders that somebody damaged: what is made anew, and what is left as it is."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
import yaml

from embedded import credentials, marker, processes

FILES = ("pki/ca.crt", "pki/server.crt", "pki/server.key", "pki/sa.key", "tokens.csv")


def write(state: Path) -> bool:
    return credentials.write(state, state / "kubeconfig", 6443)


def texts(state: Path) -> dict[str, str]:
    return {name: (state / name).read_text() for name in FILES}


def test_keys_and_token_are_made_once(tmp_path: Path) -> None:
    assert write(tmp_path)
    first = texts(tmp_path)
    assert not write(tmp_path)
    assert texts(tmp_path) == first


@pytest.mark.parametrize(
    "text", ["", "\n", "x,admin,admin,system:masters\n", "-----BEGIN half", "\xff", None]
)
@pytest.mark.parametrize("name", FILES)
def test_what_is_damaged_is_made_anew_and_told(tmp_path: Path, name: str, text: str | None) -> None:
    write(tmp_path)
    first = texts(tmp_path)
    if text is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    assert write(tmp_path)
    assert texts(tmp_path)[name] != first[name]
    assert not write(tmp_path)


@pytest.mark.parametrize(
    ("begins", "ends", "renewed"),
    [(-2, -1, True), (-2, 0.5, True), (1, 9, True), (-2, 9, False)],
    ids=["expired", "about to expire", "not valid yet", "valid"],
)
@pytest.mark.parametrize("name", ["ca.crt", "server.crt"])
def test_a_certificate_out_of_its_time_is_made_anew(
    tmp_path: Path, name: str, begins: float, ends: float, renewed: bool
) -> None:
    """begins, ends: days from now."""
    write(tmp_path)
    now = datetime.now(UTC)
    issued = trustme.CA().issue_cert(
        "localhost", not_before=now + timedelta(begins), not_after=now + timedelta(ends)
    )
    given = issued.cert_chain_pems[0].bytes()
    (tmp_path / "pki" / name).write_bytes(given)
    assert write(tmp_path) == renewed
    assert ((tmp_path / "pki" / name).read_bytes() != given) == renewed
    assert not write(tmp_path)


@pytest.mark.parametrize("text", ["", "half: [", "\0"])
def test_the_kubeconfig_is_whole_after_it_was_damaged(tmp_path: Path, text: str) -> None:
    write(tmp_path)
    config = tmp_path / "kubeconfig"
    whole = config.read_text()
    config.write_text(text)
    assert not write(tmp_path)
    assert config.read_text() == whole
    token = yaml.safe_load(whole)["users"][0]["user"]["token"]
    assert (tmp_path / "tokens.csv").read_text().startswith(f"{token},admin,")


PORTS = {"etcd": 40001, "api": 40002}


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "7", "\xff", '{"controlplane": 5, "ports": []}', '{"controlplane": "/nowhere"}']
)
def test_a_damaged_marker_is_ours_and_holds_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "cluster.json").write_bytes(text.encode("latin-1"))
    assert marker.is_there(tmp_path)
    assert marker.read(tmp_path) == {}
    assert marker.ports(tmp_path).keys() == PORTS.keys()


@pytest.mark.parametrize(
    "ports", [{}, {"etcd": 1}, {"etcd": 1, "api": 70000}, {"etcd": 1, "api": "x"}, [1, 2]]
)
def test_a_marker_with_other_ports_is_damaged(tmp_path: Path, ports: object) -> None:
    (tmp_path / "cluster.json").write_text(json.dumps({"controlplane": str(tmp_path), "ports": ports}))
    assert marker.read(tmp_path) == {}


def test_a_marker_is_read_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not marker.is_there(tmp_path)
    marker.write(tmp_path, {"controlplane": str(tmp_path), "kwok": "k"}, PORTS)
    assert marker.read(tmp_path) == {"controlplane": str(tmp_path), "kwok": "k", "ports": PORTS}
    monkeypatch.setattr(processes, "is_free", lambda _: True)
    assert marker.ports(tmp_path) == PORTS
    monkeypatch.setattr(processes, "is_free", lambda port: port != PORTS["api"])
    assert marker.ports(tmp_path) != PORTS


def test_a_start_that_broke_off_at_the_marker_is_ours(tmp_path: Path) -> None:
    (tmp_path / "cluster.json.partial").touch()
    assert marker.is_there(tmp_path)
