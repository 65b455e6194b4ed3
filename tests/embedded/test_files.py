"""Files and folders that nobody sees half made, whoever is killed or comes second."""

import threading
from pathlib import Path

import pytest

from embedded.files import fill, fill_once, write_whole
from tests.waiting import PATIENCE


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    (tmp_path / "run.json.partial").write_text("of one that was killed")
    write_whole(path, "first")
    before = path.open()
    write_whole(path, "second")
    with before:
        assert before.read() == "first", "whoever reads it meanwhile has the old one whole"
    assert path.read_text() == "second"
    assert [each.name for each in tmp_path.iterdir()] == ["run.json"]


def test_a_secret_file_is_never_open_to_others(tmp_path: Path) -> None:
    write_whole(tmp_path / "token", "secret", mode=0o600)
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_could_not_be_filled_is_not_there(tmp_path: Path) -> None:
    def half(folder: Path) -> None:
        folder.mkdir()
        (folder / "half").touch()
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        fill(tmp_path / "folder", half)
    assert not (tmp_path / "folder").exists()
    fill(tmp_path / "folder", Path.mkdir)
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_folder_is_filled_once_and_the_second_waits(tmp_path: Path) -> None:
    filled: list[Path] = []
    waiting = threading.Event()

    def make(folder: Path) -> None:
        assert waiting.wait(PATIENCE), "the second came and said so"
        folder.mkdir()
        filled.append(folder)

    def install() -> None:
        fill_once(tmp_path / "cache" / "it", make, lambda _: waiting.set(), "another installation")

    threads = [threading.Thread(target=install) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(filled) == 1
    assert (tmp_path / "cache" / "it").is_dir()
