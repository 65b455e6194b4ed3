"""locks/: every package that is installed, with its hashes. `make lock` writes them anew."""

import re

import pytest

from tests.project import PROJECT

LOCKS = {
    "dev": "requirements-dev.txt",
    "program": "requirements.txt",
    "docs": "requirements-docs.txt",
    "policy": "policy/requirements.txt",
    "audit": "requirements-audit.txt",
}
PIN = re.compile(r"^([\w.-]+)(?:\[[\w,.-]+\])?==([^\s;\\]+)", re.MULTILINE)
Pins = set[tuple[str, str]]


def pins(text: str) -> Pins:
    return {(name.lower(), version) for name, version in PIN.findall(text)}


def required(name: str) -> Pins:
    text = (PROJECT / name).read_text()
    included = re.findall(r"^-r (\S+)", text, re.MULTILINE)
    return pins(text).union(*map(required, included))


def locked(name: str) -> str:
    return (PROJECT / "locks" / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_what_is_required(name: str) -> None:
    missing = required(LOCKS[name]) - pins(locked(name))
    assert not missing, "run `make lock`"


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_hashes(name: str) -> None:
    packages = re.split(r"\n(?=[a-zA-Z])", locked(name))[1:]
    assert len(packages) >= len(required(LOCKS[name]))
    assert [each.partition(" ")[0] for each in packages if "--hash=sha256:" not in each] == []


def test_nothing_is_locked_that_no_requirement_needs() -> None:
    """A package that `make lock` would leave out says `# via` nobody."""
    for name, source in LOCKS.items():
        packages = re.split(r"\n(?=[a-zA-Z])", locked(name))[1:]
        assert [each for each in packages if "# via" not in each] == [], source


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
