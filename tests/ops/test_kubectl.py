"""The kubectl on PATH, with its own words where it fails."""

from pathlib import Path

import pytest

from ops.kubectl import KubectlError, NoKubectlError, OwnKubectl, on_path

TALKS = """#!/bin/sh
echo "$@"; cat
"""
REFUSED = """#!/bin/sh
echo 'E1122 10:00:00.000000 1 memcache.go:265] "Unhandled Error" err="couldn'"'"'t get API group list"' >&2
echo 'The connection to the server 127.0.0.1:1 was refused' >&2
exit 1
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def written(path: Path, script: str) -> OwnKubectl:
    program = path / "kubectl"
    program.write_text(script)
    program.chmod(0o755)
    return on_path(["--context=ours"])


def test_it_is_asked_about_that_cluster_and_reads_what_it_is_given(path: Path) -> None:
    assert written(path, TALKS)("apply", "-f-", stdin="äöü") == "--context=ours apply -f-\näöü"
    assert written(path, TALKS).read("get", stdin="x") == b"--context=ours get\nx"


def test_its_own_words_are_the_error_without_its_log(path: Path) -> None:
    with pytest.raises(KubectlError) as error:
        written(path, REFUSED)("get", "pods")
    assert str(error.value) == "The connection to the server 127.0.0.1:1 was refused"


def test_questions_do_not_wait_for_ever_and_waiting_does(path: Path) -> None:
    own = written(path, TALKS)
    assert own.impatient()("get", "nodes") == "--context=ours --request-timeout=30s get nodes\n"
    assert own("wait") == "--context=ours wait\n"


def test_without_one_the_user_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoKubectlError, match=r"kubectl is not on PATH: install it \(https://"):
        on_path([])
