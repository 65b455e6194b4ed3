"""locks/: every package that is installed, with its hashes. `make lock` writes them anew."""

import re

import pytest

from embedded import packages
from ops import locks
from tests.parsers import harness
from tests.project import PROJECT

FILES = {
    "dev": "requirements-dev.txt",
    "program": "requirements.txt",
    "docs": "requirements-docs.txt",
    "policy": "policy/requirements.txt",
    "audit": "requirements-audit.txt",
}
PIN = re.compile(r"^([\w.-]+)(?:\[[\w,.-]+\])?==([^\s;\\]+)", re.MULTILINE)
Pins = set[tuple[str, str]]


def pins(text: str) -> Pins:
    return {(name.lower().replace("_", "-"), version) for name, version in PIN.findall(text)}


def in_file(name: str) -> Pins:
    text = (PROJECT / name).read_text()
    included = re.findall(r"^-r (\S+)", text, re.MULTILINE)
    return pins(text).union(*map(in_file, included))


AT_FIRST_USE = locks.WITH_DEPENDENCIES | locks.ALONE
REQUIRED = {
    **{name: in_file(source) for name, source in FILES.items()},
    **{name: pins("\n".join(requirements)) for name, requirements in AT_FIRST_USE.items()},
}
"""What each lock is written from."""


def locked(name: str) -> str:
    return (PROJECT / "locks" / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", REQUIRED)
def test_a_lock_has_what_is_required(name: str) -> None:
    missing = REQUIRED[name] - pins(locked(name))
    assert not missing, "run `make lock`"


@pytest.mark.parametrize("name", REQUIRED)
def test_every_locked_package_has_hashes(name: str) -> None:
    found = re.split(r"\n(?=[a-zA-Z])", locked(name))[1:]
    assert len(found) >= len(REQUIRED[name])
    assert [each.partition(" ")[0] for each in found if "--hash=sha256:" not in each] == []


def test_nothing_is_locked_that_no_requirement_needs() -> None:
    """A package that `make lock` would leave out says `# via` nobody, and is not asked for."""
    for name, required in REQUIRED.items():
        found = re.split(r"\n(?=[a-zA-Z])", locked(name))[1:]
        alone = pins("\n".join(each for each in found if "# via" not in each))
        assert alone <= required, name


def test_there_is_no_other_lock() -> None:
    assert {each.stem for each in (PROJECT / "locks").iterdir()} == REQUIRED.keys()


@pytest.mark.parametrize("release", harness.RELEASES)
def test_dynamos_wheels_are_those_whose_parsers_are_asked(release: str) -> None:
    known = "".join(locked(name) for name in REQUIRED if name == f"dynamo-{release}")
    assert [each for each in harness.HASHES[release] if known and f"sha256:{each}" not in known] == []


def test_what_has_no_lock_is_asked_for_by_version_alone() -> None:
    asked = ["ai-dynamo==1.2.0", "ai-dynamo-runtime==1.2.0"]
    assert packages.pip_arguments("dynamo-1.2.0", asked) == asked
    assert packages.pip_arguments("dynamo-1.2.1", asked)[0] == "--require-hashes"


def test_the_program_alone_has_what_the_verbs_have() -> None:
    assert pins(locked("program")) <= pins(locked("dev"))


def test_make_and_workflows_install_from_locks_alone() -> None:
    files = [PROJECT / "Makefile", *(PROJECT / ".github" / "workflows").iterdir()]
    installs = re.findall(
        r"(?:pip install|\$\(INSTALL\)) (.*)",
        "".join(each.read_text() for each in files).replace("--quiet ", ""),
    )
    others = [
        each for each in installs if not re.search(r"--require-hashes --requirement locks/\w+\.txt", each)
    ]
    assert others == ["--disable-pip-version-check --no-compile", "--no-deps --editable ."]
