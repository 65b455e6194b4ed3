"""The program that keeps a node's copy: a real process and its SIGTERM; the API server's answers are a stand-in's."""

import fcntl
import json
import os
import subprocess
import sys
import urllib.error
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from pods import keep_copy

STANDS_IN = """
import urllib.error
from pods import keep_copy
def request(path):
    if path == "/api/v1/namespaces/dynamo/pods?fieldSelector=spec.nodeName%3Dours":
        return {{"items": []}}
    assert path == "/apis/apps/v1/namespaces/dynamo/daemonsets/model-copy", path
    {answer}
keep_copy.request = request
keep_copy.main()
"""
NOT_FOUND = "raise urllib.error.HTTPError(path, 404, 'Not Found', {}, None)"
FORBIDDEN = "raise urllib.error.HTTPError(path, 403, 'Forbidden', {}, None)"
SILENT = "raise TimeoutError('timed out')"
THERE = "return {'metadata': {}}"
GOING = "return {'metadata': {'deletionTimestamp': '2026-01-01T00:00:00Z'}}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy with a link and a marker."""
    blobs = tmp_path / "home" / "hub" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / "0").write_bytes(b"0")
    (blobs.parent / "link").symlink_to("blobs")
    (tmp_path / "home" / ".complete-model-c0ffee").write_text("1\n")
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("answer", "stays", "said"),
    [
        (NOT_FOUND, False, "is cleared"),
        (GOING, False, "is cleared"),
        (THERE, True, "is kept"),
        (FORBIDDEN, True, "stays on this node: HTTP Error 403: Forbidden"),
        (SILENT, True, "stays on this node: timed out"),
    ],
    ids=["deleted", "being deleted", "an update", "no rights", "no answer"],
)
def test_a_copy_goes_with_its_daemon_set_alone(home: Path, answer: str, stays: bool, said: str) -> None:
    environment = {
        "HF_HOME": str(home),
        "DAEMON_SET": "/apis/apps/v1/namespaces/dynamo/daemonsets/model-copy",
        "MODELS": '[{"model": "model", "revision": "c0ffee"}]',
        "NAMESPACE": "dynamo",
        "NODE_NAME": "ours",
    }
    keeping = subprocess.Popen(
        [sys.executable, "-c", STANDS_IN.format(answer=answer)],
        env=environment | {"PYTHONPATH": str(Path(keep_copy.__file__).parent.parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert keeping.stdout is not None
    lines = keeping.stdout.readline()
    keeping.terminate()
    lines += keeping.communicate()[0]
    assert keeping.returncode == 0
    assert lines.splitlines()[-1].endswith(f"{home} {said}")
    assert bool(list(home.iterdir())) is stays


def test_what_is_half_deleted_does_not_look_whole(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Path) -> None:
        raise OSError("busy")

    monkeypatch.setattr("shutil.rmtree", fails)
    with pytest.raises(OSError, match="busy"):
        keep_copy.clear(home)
    assert [path.name for path in home.iterdir()] == ["hub"]


def test_another_answer_is_no_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str) -> Any:
        raise urllib.error.HTTPError(path, 500, "Internal", Message(), None)

    monkeypatch.setattr(keep_copy, "request", refused)
    with pytest.raises(urllib.error.HTTPError):
        keep_copy.is_deleted("/apis/apps/v1/namespaces/dynamo/daemonsets/model-copy")


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node's two folders: models of three revisions, two of which share a blob, and three keys."""
    models, compiled = tmp_path / "models", tmp_path / "compiled"
    folder = models / "hub" / "models--openai--gpt"
    for revision, blobs in (("a11", "shared a"), ("b22", "shared b"), ("c33", "c")):
        for name in blobs.split():
            blob, link = folder / "blobs" / name, folder / "snapshots" / revision / f"{name}.safetensors"
            for path in (blob, link):
                path.parent.mkdir(parents=True, exist_ok=True)
            blob.write_text(name)
            link.symlink_to(f"../../blobs/{name}")
        (models / f".complete-openai--gpt-{revision}").write_text("1\n")
    for key in ("ours", "of-a-pod", "of-nobody"):
        (compiled / key).mkdir(parents=True)
    said = {
        "HF_HOME": str(models), "MODELS": json.dumps([{"model": "openai/gpt", "revision": "a11"}]),
        "COMPILED": str(compiled), "KEYS": '["ours"]', "NAMESPACE": "dynamo", "NODE_NAME": "ours",
    }  # fmt: skip
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def answer(monkeypatch: pytest.MonkeyPatch, *words: str, reads: str | None = None) -> None:
    """One pod of the node, whose container is told these words. reads: a revision that it copies."""
    told = {"name": "main", "command": list(words), "env": [{"name": "MODELS", "value": "of somebody's own"}]}
    models = json.dumps([{"model": "openai/gpt", "revision": reads}])
    copying = {
        "name": "copy-weights",
        "env": [{"name": "OF_NODE", "value": "1"}, {"name": "MODELS", "value": models}],
    }
    spec = {"containers": [told], "initContainers": [copying] if reads else []}
    monkeypatch.setattr(keep_copy, "request", lambda _: {"items": [{"spec": spec}]})


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_what_neither_stack_nor_pods_name_is_deleted(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "of-a-pod=4", "b22 is a word", reads="c33")
    keep_copy.sweep()
    hub = "hub/models--openai--gpt"
    assert tree(node / "models") == {
        ".complete-openai--gpt-a11", ".complete-openai--gpt-c33",
        f"{hub}/blobs/shared", f"{hub}/blobs/a", f"{hub}/blobs/c",
        f"{hub}/snapshots/a11/shared.safetensors", f"{hub}/snapshots/a11/a.safetensors",
        f"{hub}/snapshots/c33/c.safetensors",
    }  # fmt: skip
    assert {path.name for path in (node / "compiled").iterdir()} == {"ours", "of-a-pod"}
    answer(monkeypatch)
    keep_copy.sweep()
    assert f"{hub}/blobs/c" not in tree(node / "models")
    assert {path.name for path in (node / "compiled").iterdir()} == {"ours"}


HUB = "models/hub/models--openai--gpt"


def test_a_commit_stays_for_whoever_names_it_otherwise(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was followed as `main`, and then pinned; to the program that copies, the marker says that all is there."""
    (node / "models" / ".complete-openai--gpt-main").write_text("1\n")
    (node / HUB / "refs").mkdir()
    (node / HUB / "refs" / "main").write_text("a11")
    answer(monkeypatch, "main")
    keep_copy.sweep()
    assert {path for path in tree(node) if "compiled" not in path} == {
        "models/.complete-openai--gpt-a11",
        *(f"{HUB}/{place}" for place in ("blobs/shared", "blobs/a")),
        *(f"{HUB}/snapshots/a11/{name}.safetensors" for name in ("shared", "a")),
    }  # fmt: skip
    (node / HUB / "refs").mkdir(exist_ok=True)
    (node / HUB / "refs" / "main").write_text("a11")
    (node / "models" / ".complete-openai--gpt-main").write_text("1\n")
    monkeypatch.setenv("MODELS", json.dumps([{"model": "openai/gpt", "revision": "main"}]))
    keep_copy.sweep()
    assert f"{HUB}/snapshots/a11/a.safetensors" in tree(node)
    assert not (node / "models" / ".complete-openai--gpt-a11").exists()


def test_what_a_cut_off_copy_left_is_deleted(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (node / "models" / ".complete-openai--gpt-c33").unlink()
    left = (node / HUB / "blobs" / "d.partial", node / HUB / "snapshots" / "d44" / "of-a-bucket.safetensors",
            node / "models" / "hub" / "models--draft" / "blobs" / "e")  # fmt: skip
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
    answer(monkeypatch, reads="c33")
    keep_copy.sweep()
    assert all(path.exists() for path in left[:2]), "the pod of c33 goes on with its copy"
    assert not left[2].exists()
    answer(monkeypatch)
    keep_copy.sweep()
    kept = ("blobs/shared", "blobs/a", "snapshots/a11/shared.safetensors", "snapshots/a11/a.safetensors")
    assert {path for path in tree(node / "models") if "hub" in path} == {
        f"{HUB}/{each}".removeprefix("models/") for each in kept
    }


@pytest.mark.parametrize(("held", "swept"), [("models", "compiled"), ("compiled", "models")])
def test_nothing_is_deleted_where_another_pod_works(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], held: str, swept: str
) -> None:
    answer(monkeypatch)
    before = set(node.rglob("*"))
    folder = os.open(node / held, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    keep_copy.sweep()
    os.close(folder)
    gone = before - set(node.rglob("*"))
    assert gone
    assert all(path.is_relative_to(node / swept) for path in gone)
    assert f"another pod works in {node / held}; swept in an hour" in capsys.readouterr().out


def test_pods_are_listed_while_the_folder_is_held(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes between list and lock would else find its model whole, and lose it."""
    homes, held = [node / "models", node / "compiled"], list[set[Path]]()

    def is_held(home: Path) -> bool:
        folder = os.open(home, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(folder)
        return False

    def listed(_: str) -> Any:
        held.append({home for home in homes if is_held(home)})
        return {"items": []}

    monkeypatch.setattr(keep_copy, "request", listed)
    keep_copy.sweep()
    assert sorted(held, key=str) == [{node / "compiled"}, {node / "models"}]


def test_a_folder_is_not_cleared_under_a_pod_that_copies(home: Path) -> None:
    folder = os.open(home, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    words = f"from pathlib import Path; from pods import keep_copy; keep_copy.clear(Path({str(home)!r}))"
    clearing = subprocess.Popen(
        [sys.executable, "-c", words], cwd=Path(keep_copy.__file__).parent.parent, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    assert clearing.stdout is not None
    assert clearing.stdout.readline().endswith(f"another pod works in {home}; waiting for it\n")
    assert (home / ".complete-model-c0ffee").exists()
    os.close(folder)
    assert clearing.communicate()[0].endswith(f"{home} is cleared\n")
    assert list(home.iterdir()) == []


def test_nothing_is_deleted_where_the_api_says_nothing(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(_: str) -> Any:
        raise TimeoutError("timed out")

    monkeypatch.setattr(keep_copy, "request", silent)
    before = tree(node)
    with pytest.raises(OSError, match="timed out"):
        keep_copy.sweep()
    assert tree(node) == before
