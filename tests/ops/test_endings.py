"""How a verb ends where what it writes to takes nothing, and where it is given no address."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import PROJECT


def end(*arguments: str, stdout: str | None = None) -> tuple[int, str]:
    """Its exit code, and what it says beside its output."""
    with Path(stdout or "/dev/null").open("w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "ops", *arguments],
            cwd=PROJECT, stdout=out, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("kind", ["file", "read-only"])
def test_a_folder_that_takes_nothing_is_named(tmp_path: Path, kind: str) -> None:
    taken = tmp_path / "taken"
    if kind == "file":
        taken.write_text("")
        said = f"error: {taken}/manifests: Not a directory\n"
    else:
        taken = Path("/proc/self")  # not even root may write there
        said = "error: /proc/self/manifests: No such file or directory\n"
    assert end("synth", "--stack", "dev", "--out", str(taken)) == (1, said)


def test_an_output_that_is_full_is_one_sentence() -> None:
    assert end("cost", "--stack", "dev", stdout="/dev/full") == (1, "error: No space left on device\n")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "notaurl", "http:///v1"])
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    code, said = end("verify", "--stack", "dev", "--url", url)
    assert code == 2
    assert f"--url: '{url}' is no address" in " ".join(said.split())
