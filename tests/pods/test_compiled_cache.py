"""The program that makes a node's folder fit for what engines compile: real processes on real folders."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pods import compiled_cache

KEY = "0123456789abcdef"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "compiled").mkdir()
    return tmp_path / "compiled"


def command(home: Path, *keys: str) -> list[str]:
    return [sys.executable, compiled_cache.__file__, str(home), *keys]


def run(home: Path, *keys: str) -> str:
    return subprocess.run(command(home, *keys), check=True, capture_output=True, text=True).stdout


def tuned(*ranks: int) -> str:
    return json.dumps({"metadata": {"lib_version": "1.3.0"}, **{f"rank_{rank}": {} for rank in ranks}})


def test_what_was_compiled_is_there_for_the_next_engine(home: Path) -> None:
    run(home, f"{KEY}=4")
    (home / KEY / "triton").mkdir()
    (home / KEY / "triton" / "kernel.cubin").write_bytes(b"kernel")
    (home / KEY / "autotuner.json").write_text(tuned(0, 1, 2, 3))
    said = run(home, f"{KEY}=4")
    assert "deleted" not in said
    assert (home / KEY / "triton" / "kernel.cubin").read_bytes() == b"kernel"
    assert (home / KEY / "autotuner.json").read_text() == tuned(0, 1, 2, 3)


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("autotuner.json", tuned(0, 2, 3)),
        ("autotuner.json", tuned(0, 1, 2, 3)[:-5]),
        ("autotuner.json", ""),
        ("vllm/flashinfer_autotune_cache/0.6.14/100a/0/autotune_configs.json", '{"gemm": [1'),
        ("sglang/flashinfer/autotune/0.6.14/100a/0/rank_tp0_pp0_dp0.json", ""),
    ],
    ids=["a rank is missing", "cut off", "empty", "vLLM", "SGLang"],
)
def test_tuned_kernels_that_are_half_written_are_deleted(home: Path, place: str, content: str) -> None:
    run(home, f"{KEY}=4")
    beside = home / KEY / "triton" / "meta.json"
    for path, text in ((home / KEY / place, content), (beside, '{"half')):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert "was not written to its end: deleted" in run(home, f"{KEY}=4")
    assert not (home / KEY / place).exists()
    assert beside.exists(), "what comes whole by its name is the engine's own matter"


def test_each_kind_of_worker_has_its_own_ranks(home: Path) -> None:
    run(home, "prefill=1", "decode=4")
    (home / "prefill" / "autotuner.json").write_text(tuned(0))
    (home / "decode" / "autotuner.json").write_text(tuned(0))
    run(home, "prefill=1", "decode=4")
    assert (home / "prefill" / "autotuner.json").exists()
    assert not (home / "decode" / "autotuner.json").exists()


def test_what_another_image_compiled_is_deleted(home: Path) -> None:
    """The origin names every package that is installed: here an older one stands for another image of the tag."""
    run(home, f"{KEY}=1", "other=1")
    (home / KEY / "kernel").write_bytes(b"kernel")
    (home / "other" / "kernel").write_bytes(b"kernel")
    (home / KEY / ".origin").write_text("another image")
    assert "is of another image, or of another start of the node: deleted" in run(home, f"{KEY}=1", "other=1")
    assert [path.name for path in (home / KEY).iterdir()] == [".origin"]
    assert (home / "other" / "kernel").exists()


def test_a_boot_of_the_node_is_another_origin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = compiled_cache.origin()
    monkeypatch.setattr(compiled_cache, "BOOT", tmp_path / "boot_id")
    compiled_cache.BOOT.write_text("another boot\n")
    assert compiled_cache.origin() != before
    assert compiled_cache.origin().split()[0] == before.split()[0]


def test_pods_of_one_folder_go_one_after_another(home: Path) -> None:
    folder = os.open(home, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    second = subprocess.Popen(command(home, f"{KEY}=1"), stdout=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(1)
    assert not (home / KEY).exists()
    os.close(folder)
    assert second.communicate()[0].endswith("is ready\n")
    assert (home / KEY).is_dir()


def test_a_folder_that_is_not_given_away_is_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = iter([False, True])
    monkeypatch.setattr(os, "access", lambda *_: next(given))
    monkeypatch.setattr(compiled_cache, "OWNER_SECONDS", 0)
    monkeypatch.setattr(sys, "argv", ["compiled_cache.py", str(home), f"{KEY}=1"])
    before = os.umask(0o022)
    try:
        compiled_cache.main()
    finally:
        os.umask(before)
    assert "see the pods of daemonset/model-copy" in capsys.readouterr().out
    assert (home / KEY).stat().st_mode & 0o020, "another user of the group may go on"
