"""The script of the workers' init container, on folders laid out as huggingface_hub does."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pods import copy_weights, download_model

MODEL, COMMIT = "openai/gpt-oss-120b", "b5c9"
FOLDER = "hub/models--openai--gpt-oss-120b"
WEIGHTS = {
    "config.json": b"{}",
    "generation_config.json": b"{}",
    "model-0.safetensors": b"0" * 5000,
    "model-1.safetensors": b"1" * 3000,
    "tokenizer/tokenizer.json": b"words",
}
MARKER = f".complete-openai--gpt-oss-120b-{COMMIT}"

INTERRUPTED = """
import os, signal, threading
from pods import copy_weights
copy_weights.CHUNK, copy_weights.STREAMS, chunks = 1000, 1, []
def add(self, count):
    chunks.append(count)
    if len(chunks) == 7:  # five of the first file, two of the three of the second
        os.kill(os.getpid(), signal.{signal})
        threading.Event().wait()
copy_weights.Progress.add = add
copy_weights.main()
"""


def blob(content: bytes) -> str:
    return f"{FOLDER}/blobs/{hashlib.sha256(content).hexdigest()}"


def lay_out(cache: Path, model: str, commit: str, files: Mapping[str, bytes]) -> None:
    """One blob for each content, and links to them by name."""
    folder = cache / "hub" / f"models--{model.replace('/', '--')}"
    (folder / "blobs").mkdir(parents=True)
    for name, content in files.items():
        stored = folder / "blobs" / hashlib.sha256(content).hexdigest()
        stored.write_bytes(content)
        link = folder / "snapshots" / commit / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(stored, link.parent))


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shared cache with the marker that the download leaves, and this process's environment for one copy."""
    cache = tmp_path / "shared"
    lay_out(cache, MODEL, COMMIT, WEIGHTS)
    (cache / "tiktoken").mkdir()
    (cache / "tiktoken" / "o200k_base.tiktoken").write_bytes(b"vocabulary")
    monkeypatch.setattr(download_model, "sizes", lambda *_: dict.fromkeys(WEIGHTS, 1))
    monkeypatch.setattr(download_model, "download", lambda *_: cache)
    monkeypatch.setattr(download_model, "check_sizes", lambda *_: sum(map(len, WEIGHTS.values())))
    download_model.fill(cache, MODEL, COMMIT, tokenizer_only=False)
    monkeypatch.setenv("SHARED", str(cache))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VOCABULARY_PATH", str(tmp_path / "home" / "tiktoken"))
    monkeypatch.setenv("MODELS", json.dumps([{"model": MODEL, "revision": COMMIT}]))
    return cache


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def sigterm() -> object:
    """The script's own handler is not for the process of the tests."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def tree(folder: Path) -> dict[str, bytes | str]:
    """Every file's content and every link's target, by path."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def identities(folder: Path) -> dict[str, tuple[int, int]]:
    found = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    return {str(path.relative_to(folder)): (stat.st_ino, stat.st_mtime_ns) for path, stat in found.items()}


def test_the_copy_is_what_the_shared_cache_is(shared: Path, home: Path) -> None:
    copy_weights.main()
    assert tree(home) == tree(shared)
    snapshot = home / FOLDER / "snapshots" / COMMIT
    assert {name: (snapshot / name).read_bytes() for name in WEIGHTS} == WEIGHTS
    assert len(list((home / FOLDER / "blobs").iterdir())) == 4, "two names of one content share a blob"


def test_nothing_else_of_the_shared_cache_is_copied(shared: Path, home: Path) -> None:
    before = tree(shared)
    lay_out(shared, "nvidia/another", "c0ffee", {"model.safetensors": b"x"})
    older = shared / FOLDER / "blobs" / "older"
    older.write_bytes(b"of an earlier revision")
    copy_weights.main()
    assert tree(home) == before


def test_a_revision_that_is_a_name_keeps_its_ref(
    shared: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(shared, "nvidia/draft", "c0ffee", {"model.safetensors": b"draft"})
    ref = shared / "hub/models--nvidia--draft/refs/main"
    ref.parent.mkdir()
    ref.write_text("c0ffee")
    (shared / ".complete-nvidia--draft-main").write_text("5\n")
    models = [{"model": MODEL, "revision": COMMIT}, {"model": "nvidia/draft", "revision": "main"}]
    monkeypatch.setenv("MODELS", json.dumps(models))
    copy_weights.main()
    assert tree(home) == tree(shared)


def test_a_copy_that_is_whole_is_left_alone(
    shared: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_weights.main()
    before = identities(home)
    capsys.readouterr()
    (shared / MARKER).unlink()
    copy_weights.main()
    assert identities(home) == before
    assert capsys.readouterr().out.endswith(f"{MARKER} is there: nothing to copy\n")


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(("name", "status"), [("SIGKILL", -9), ("SIGTERM", 143)])
def test_an_interrupted_copy_goes_on_where_it_was(shared: Path, home: Path, name: str, status: int) -> None:
    script = INTERRUPTED.format(signal=name)
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == status
    first, second = blob(WEIGHTS["model-0.safetensors"]), blob(WEIGHTS["model-1.safetensors"])
    assert tree(home).keys() == {first, f"{second}.partial"}
    before = identities(home)[first]
    copy_weights.main()
    assert identities(home)[first] == before
    assert tree(home) == tree(shared)


def test_a_file_of_another_size_is_copied_again(shared: Path, home: Path) -> None:
    cut = home / blob(WEIGHTS["model-0.safetensors"])
    cut.parent.mkdir(parents=True)
    cut.write_bytes(b"0" * 4999)
    copy_weights.main()
    assert tree(home) == tree(shared)


def test_a_shared_cache_without_its_marker_is_refused(shared: Path, home: Path) -> None:
    (shared / MARKER).unlink()
    with pytest.raises(SystemExit) as refusal:
        copy_weights.main()
    assert refusal.value.code == (
        f"{shared}/{MARKER} is not there: openai/gpt-oss-120b@b5c9 is not whole in the shared cache"
    )
    assert tree(home) == {}


@pytest.mark.parametrize("name", ["model-0.safetensors", "config.json"])
def test_a_shared_cache_that_lost_something_is_refused(shared: Path, home: Path, name: str) -> None:
    (shared / blob(WEIGHTS[name])).unlink()
    with pytest.raises(
        SystemExit, match=rf"b5c9 has \d+ bytes in the shared cache, but .*{MARKER} says 8009"
    ):
        copy_weights.main()
    assert tree(home) == {}


@pytest.mark.parametrize(("name", "size"), [("model-0.safetensors", 5000), ("model-1.safetensors", 3000)])
def test_a_file_that_shrinks_during_the_copy_is_refused(
    shared: Path, home: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int
) -> None:
    """The first one while it is read, the second one before it is."""
    shrinking = shared / blob(WEIGHTS[name])
    monkeypatch.setattr(copy_weights, "CHUNK", 1000)
    monkeypatch.setattr(copy_weights, "STREAMS", 1)
    monkeypatch.setattr(copy_weights.Progress, "add", lambda *_: os.truncate(shrinking, 2000))
    with pytest.raises(
        SystemExit, match=f"had {size} bytes, of which 2000 could be read; it changes while it is copied"
    ):
        copy_weights.main()
    assert MARKER not in tree(home)


def test_a_damaged_file_is_refused(shared: Path, home: Path) -> None:
    (shared / blob(WEIGHTS["model-0.safetensors"])).write_bytes(b"0" * 4999 + b"1")
    with pytest.raises(
        SystemExit, match=r"blobs/\w{64} has the SHA-256 \w{64}: it is damaged; delete it and "
    ):
        copy_weights.main()
    assert not {MARKER, blob(WEIGHTS["model-0.safetensors"])} & tree(home).keys()


def test_a_disk_without_room_is_refused_before_a_byte_is_copied(shared: Path, home: Path) -> None:
    """A file with a hole, larger than the disk of this test."""
    os.truncate(shared / blob(WEIGHTS["model-0.safetensors"]), shutil.disk_usage(home).free + 10**10)
    with pytest.raises(
        SystemExit,
        match=rf"^the disk of {home} has \d+\.\d GB free, but \d+\.\d GB are to be copied; the node needs",
    ):
        copy_weights.main()
    assert tree(home) == {}


def test_room_for_what_was_begun_is_free(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "blobs").mkdir()
    (home / "blobs/model.partial").write_bytes(b"0" * 8192)
    usage = shutil.disk_usage(home)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=0))
    copy_weights.check_room(home, 8192)
    with pytest.raises(SystemExit, match=r"has 0\.0 GB free"):
        copy_weights.check_room(home, 10**9)


def test_pods_of_one_folder_copy_once(shared: Path, home: Path) -> None:
    """The second one waits while the first one holds the folder, and then finds everything."""
    with copy_weights.alone(home):
        second = subprocess.Popen([sys.executable, copy_weights.__file__], stdout=subprocess.PIPE, text=True)
        assert second.stdout is not None
        assert second.stdout.readline().endswith(f" another pod copies to {home}; waiting for it\n")
        for each in json.loads(os.environ["MODELS"]):
            copy_weights.fill(shared, home, **each)
        before = identities(home)
    said, _ = second.communicate()
    assert second.returncode == 0
    assert said.endswith(f"{MARKER} is there: nothing to copy\n")
    assert {name: found for name, found in identities(home).items() if name in before} == before


def test_a_full_disk_is_one_sentence(shared: Path, home: Path) -> None:
    target = home / blob(WEIGHTS["model-0.safetensors"])
    target.parent.mkdir(parents=True)
    target.with_name(f"{target.name}.partial").symlink_to("/dev/full")
    done = subprocess.run(
        [sys.executable, copy_weights.__file__], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"the disk of {home} is full, ")
    assert line.endswith("; the node needs more room for its pods")
    assert MARKER not in tree(home)


def test_a_folder_that_cannot_be_written_is_one_sentence(shared: Path, home: Path) -> None:
    (home / "hub").write_text("in the way")
    with pytest.raises(SystemExit, match=r"^the copy failed: .*Not a directory"):
        copy_weights.main()


def test_a_folder_of_the_node_is_waited_for(
    shared: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kubelet makes it as root's; the copier gives it away while the worker waits."""
    given = iter([False, False, True])
    monkeypatch.setattr(os, "access", lambda *_: next(given))
    monkeypatch.setattr(copy_weights, "OWNER_SECONDS", 0)
    monkeypatch.setenv("OF_NODE", "1")
    before = os.umask(0o022)
    try:
        copy_weights.main()
    finally:
        os.umask(before)
    assert tree(home) == tree(shared)
    assert not list(given)
    assert all(path.stat().st_mode & 0o020 for path in home.rglob("*")), "another user of the group may go on"


def test_the_disk_begins_while_the_rest_is_read(
    shared: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[int, int]] = []
    monkeypatch.setattr(copy_weights, "CHUNK", 1000)
    monkeypatch.setattr(copy_weights, "BEGUN", 2000)
    monkeypatch.setattr(copy_weights, "STREAMS", 1)
    monkeypatch.setattr(os, "posix_fadvise", lambda _, first, size, __: begun.append((first, size)))
    copy_weights.main()
    assert begun == [(0, 2000), (2000, 2000), (0, 2000)], (
        "two of five thousand twice, then of three thousand once"
    )
    assert tree(home) == tree(shared)
