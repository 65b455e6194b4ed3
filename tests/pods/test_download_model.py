"""The script of the download Job, with a Hugging Face hub that serves small files."""

import hashlib
import io
import json
import sys
import types
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from ops.watch.view import view
from pods import download_model
from tests.ops.watch.seen import existing, seen
from tests.waiting import eventually

FILES = {
    "config.json": 2,
    "tokenizer.json": 3,
    "model-0.safetensors": 50,
    "original/model.bin": 70,
    "metal/a.bin": 9,
}
MODEL = {"model": "openai/gpt-oss-120b", "revision": "b5c9", "tokenizer_only": False}
TOKENIZER = {**MODEL, "tokenizer_only": True}
DRAFT = {"model": "nvidia/draft", "revision": "main", "tokenizer_only": False}
REFUSALS = {
    "GatedRepoError": "its licence must be accepted on the hub, by the owner of huggingFace.token",
    "RepositoryNotFoundError": "the hub has no such model, or not for this token (huggingFace.token)",
    "RevisionNotFoundError": "the hub has no such revision of it (a mirror may lag behind)",
}


JOB = {"kind": "Job", "metadata": {"name": "model-download"}}


class Hub(types.ModuleType):
    """huggingface_hub as far as the script uses it.

    failures: downloads that fail first. short: a file cut off. refused: what asking for a model raises, by model.
    """

    def __init__(self, home: Path) -> None:
        super().__init__("huggingface_hub")
        self.home, self.failures, self.short = home, 0, ""
        self.refused: dict[str, str] = {}
        self.downloads: list[str] = []
        self.errors = types.ModuleType("huggingface_hub.errors")
        for name in REFUSALS:
            setattr(self.errors, name, type(name, (Exception,), {}))

    def snapshot_download(self, model: str, *, revision: str, ignore_patterns: Iterable[str]) -> str:
        self.downloads.append(f"{model}@{revision}")
        if self.failures:
            self.failures -= 1
            raise ConnectionError("429")
        folder = self.home / "hub" / model / revision
        for name, size in FILES.items():
            if not any(fnmatch(name, pattern) for pattern in ignore_patterns):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(b"x" * (size - (name == self.short)))
        return str(folder)

    @property
    def HfApi(self) -> Any:  # noqa: N802 the hub's name
        files = [types.SimpleNamespace(rfilename=name, size=size) for name, size in FILES.items()]

        def model_info(model: str, **_: object) -> Any:
            if model in self.refused:
                raise getattr(self.errors, self.refused[model])
            return types.SimpleNamespace(siblings=files)

        return lambda: types.SimpleNamespace(model_info=model_info)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    made = Hub(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", made)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", made.errors)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("VOCABULARY_PATH", str(tmp_path / "tiktoken"))
    monkeypatch.setattr(download_model, "VOCABULARY_SHA256", hashlib.sha256(b"words").hexdigest())
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: io.BytesIO(b"words"))
    monkeypatch.setattr("time.sleep", lambda _: None)
    return made


def run(monkeypatch: pytest.MonkeyPatch, *models: dict[str, Any]) -> None:
    monkeypatch.setenv("MODELS", json.dumps(models))
    download_model.main()


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_every_model_is_downloaded_once_and_marked(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, MODEL, DRAFT)
    assert names(hub.home / "hub" / "openai/gpt-oss-120b" / "b5c9") == {
        "config.json", "tokenizer.json", "model-0.safetensors",
    }  # fmt: skip
    assert (hub.home / "tiktoken" / "o200k_base.tiktoken").read_bytes() == b"words"
    assert (hub.home / ".complete-openai--gpt-oss-120b-b5c9").read_text() == "55\n"
    run(monkeypatch, MODEL, DRAFT)
    assert hub.downloads == ["openai/gpt-oss-120b@b5c9", "nvidia/draft@main"]


def test_how_far_a_download_is_is_told_as_who_watches_it_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ""

    def is_told() -> bool:
        nonlocal said
        said += capsys.readouterr().out
        return "0.2 of 65.3 GB, 0 MB/s" in said

    with download_model.told(tmp_path, 65_300_000_000, every=0.02):
        with (tmp_path / "blob.incomplete").open("wb") as blob:
            blob.truncate(200_000_000)
        eventually(is_told)
    logs = {"model-download": tuple(said.splitlines())}
    weights = next(row for row in view(seen(JOB, logs=logs), (), existing().plan, embedded=False).rows)
    assert (weights.subject, weights.detail) == ("weights", "0.2 of 65.3 GB, 0 MB/s")


def test_a_tokenizer_is_not_taken_for_the_weights(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, TOKENIZER)
    assert names(hub.home / "hub") == {
        f"openai/gpt-oss-120b/b5c9/{name}" for name in ("config.json", "tokenizer.json")
    }
    run(monkeypatch, MODEL)
    assert len(hub.downloads) == 2


def test_a_hub_that_refuses_for_a_while_is_asked_again(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.failures = download_model.ATTEMPTS - 1
    run(monkeypatch, MODEL)
    assert len(hub.downloads) == download_model.ATTEMPTS
    hub.failures = download_model.ATTEMPTS
    with pytest.raises(ConnectionError):
        run(monkeypatch, DRAFT)


def test_an_incomplete_file_leaves_no_marker(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.short = "tokenizer.json"
    with pytest.raises(SystemExit, match=r"incomplete download: tokenizer\.json: 2, wants 3"):
        run(monkeypatch, MODEL)
    assert not list(hub.home.glob(".complete-*"))


def test_a_wrong_vocabulary_is_refused(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_model, "VOCABULARY_SHA256", "0")
    with pytest.raises(SystemExit, match="unexpected checksum"):
        run(monkeypatch, MODEL)
    assert not hub.downloads


@pytest.mark.parametrize(("error", "reason"), REFUSALS.items())
def test_a_model_that_the_hub_refuses_is_known_before_any_download(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, error: str, reason: str
) -> None:
    hub.refused = {"nvidia/draft": error}
    with pytest.raises(SystemExit) as end:
        run(monkeypatch, MODEL, DRAFT)
    assert end.value.code == f"asking for nvidia/draft@main: {reason}"
    assert not hub.downloads


def own_cache(hub: Hub, *, without: str = "") -> None:
    """A cache as `hf download` leaves it, where HF_HOME is."""
    snapshot = hub.home / "hub" / "models--openai--gpt-oss-120b" / "snapshots" / "b5c9"
    index = {"weight_map": {"a": "model-0.safetensors", "b": "model-1.safetensors"}}
    texts = {
        "config.json": "{}",
        "tokenizer.json": "{}",
        "model.safetensors.index.json": json.dumps(index),
        "model-0.safetensors": "x",
        "model-1.safetensors": "x",
    }
    snapshot.mkdir(parents=True)
    for name, text in texts.items():
        if name != without:
            (snapshot / name).write_text(text)
    (hub.home / "tiktoken").mkdir()
    (hub.home / "tiktoken" / "o200k_base.tiktoken").write_bytes(b"words")


def test_weights_of_ones_own_are_checked_and_nothing_is_written(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_cache(hub)
    before = names(hub.home)
    monkeypatch.setenv("EXISTING", "1")
    run(monkeypatch, MODEL)
    assert names(hub.home) == before
    assert not hub.downloads


@pytest.mark.parametrize(
    "missing", ["config.json", "tokenizer.json", "model-1.safetensors", "model.safetensors.index.json"]
)
def test_what_weights_of_ones_own_lack_is_named(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    own_cache(hub, without=missing)
    if missing.endswith("index.json"):
        for part in hub.home.rglob("*.safetensors"):
            part.unlink()
    (hub.home / "tiktoken" / "o200k_base.tiktoken").write_bytes(b"other")
    monkeypatch.setenv("EXISTING", "1")
    with pytest.raises(SystemExit) as end:
        run(monkeypatch, MODEL)
    folder = hub.home / "hub" / "models--openai--gpt-oss-120b" / "snapshots" / "b5c9"
    assert end.value.code == (
        f"the claim lacks {folder / missing}; {hub.home / 'tiktoken' / 'o200k_base.tiktoken'} with the checksum "
        f"sha256:{download_model.VOCABULARY_SHA256}"
    )
