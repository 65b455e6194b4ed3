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

from graphs.scripts import download_model

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


class Hub(types.ModuleType):
    """huggingface_hub as far as the script uses it. failures: downloads that fail first; short: a file cut off."""

    def __init__(self, home: Path) -> None:
        super().__init__("huggingface_hub")
        self.home, self.failures, self.short = home, 0, ""
        self.downloads: list[str] = []

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
        info = types.SimpleNamespace(siblings=files)
        return lambda: types.SimpleNamespace(model_info=lambda *_, **__: info)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    made = Hub(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", made)
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
