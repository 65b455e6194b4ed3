"""locks/: every package that is installed, with its hashes. `make lock` writes them anew."""

import re

import pytest

from embedded import dynamo, packages
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
MEND = "run `make lock`"
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


def text_of(name: str) -> str:
    path = packages.LOCKS / f"{name}.txt"
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize("name", REQUIRED)
def test_a_lock_has_what_is_required(name: str) -> None:
    missing = REQUIRED[name] - pins(text_of(name))
    assert not missing, MEND


@pytest.mark.parametrize("name", REQUIRED)
def test_every_locked_package_has_hashes(name: str) -> None:
    found = re.split(r"\n(?=[a-zA-Z])", text_of(name))[1:]
    assert len(found) >= len(REQUIRED[name])
    assert [each.partition(" ")[0] for each in found if "--hash=sha256:" not in each] == []


def test_nothing_is_locked_that_no_requirement_needs() -> None:
    """A package that `make lock` would leave out says `# via` nobody, and is not asked for."""
    for name, required in REQUIRED.items():
        found = re.split(r"\n(?=[a-zA-Z])", text_of(name))[1:]
        alone = pins("\n".join(each for each in found if "# via" not in each))
        assert alone <= required, name


def test_there_is_no_other_lock() -> None:
    assert {each.stem for each in (PROJECT / "locks").iterdir()} == REQUIRED.keys(), MEND


@pytest.mark.parametrize("name", [name for name in locks.ALONE if name.startswith("dynamo-")])
def test_dynamos_wheels_are_those_whose_parsers_are_asked(name: str) -> None:
    known = text_of(name)
    asked = harness.HASHES[name.removeprefix("dynamo-")]
    assert [each for each in asked if f"sha256:{each}" not in known] == [], MEND


def test_a_release_that_is_no_default_is_asked_for_by_version_alone() -> None:
    assert "ai-dynamo==1.2.0" in dynamo.pip_arguments("1.2.0")
    assert dynamo.pip_arguments("1.2.1") == packages.locked("dynamo-1.2.1")


def test_a_lock_that_is_missing_is_named_with_what_writes_it() -> None:
    with pytest.raises(
        packages.LockError, match=r"/locks/dynamo-9\.9\.9\.txt is missing: `make lock` writes it"
    ):
        packages.read_lock("dynamo-9.9.9")


def test_the_program_alone_has_what_the_verbs_have() -> None:
    assert pins(text_of("program")) <= pins(text_of("dev"))


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
