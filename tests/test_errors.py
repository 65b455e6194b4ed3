"""Every error of the project is for its users, or named here as one that never reaches them."""

import ast
import sys
from collections.abc import Iterator

import pytest

from measure.aiperf import AIPerfError
from ops import __main__ as ops
from targets.errors import UserError
from tests.project import PROJECT, SOURCE

INTERNAL = {
    "embedded.operator.api.ApiError": "the operator stand-in's, which tries again",
    "embedded.operator.api.ConflictError": "the operator stand-in's, which tries again",
    "pods.download_model.Refused": "of a pod's program, which says it in its log",
    "pods.verification.results.Failure": "a check's, which becomes its result",
    "pods.verification.results.Skipped": "a check's, which becomes its result",
    "pods.verification.results.Warned": "a check's, which becomes its result",
    "measure.guard.Ended": "a signal, which `main` answers with its own exit code",
}
"""Classes that no verb may end with, and who answers them."""


def classes() -> dict[str, tuple[str, ...]]:
    """Names of the base classes of every class of the project, by `module.Class`."""
    found = {}
    for path in (path for folder in SOURCE for path in (PROJECT / folder).rglob("*.py")):
        module = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = tuple(ast.unparse(base).rpartition(".")[2] for base in node.bases)
                found[f"{module}.{node.name}"] = bases
    return found


def of_base(base: set[str]) -> Iterator[str]:
    """Classes that have one of these names above them, at any distance."""
    known, all_classes = set(base), classes()
    while True:
        more = {
            name
            for name, bases in all_classes.items()
            if known & set(bases) and name.rpartition(".")[2] not in known
        }
        if not more:
            break
        known |= {name.rpartition(".")[2] for name in more}
    return (name for name, bases in all_classes.items() if known & set(bases))


def test_every_error_is_for_users_or_named_as_internal() -> None:
    errors = set(
        of_base(
            {"Exception", "BaseException", "SystemExit", "ValueError", "RuntimeError", "OSError", "RunError"}
        )
    )
    for_users = {*of_base({"UserError"}), "targets.errors.UserError"}
    assert len(for_users) > 20
    assert errors - for_users == set(INTERNAL)


def test_errors_are_told_apart_by_their_names() -> None:
    names = [name.rpartition(".")[2] for name in of_base({"Exception", "BaseException"})]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "error", [AIPerfError("pip failed:\nno space left"), UserError("pip failed:\nno space left")]
)
def test_what_a_user_can_mend_ends_in_lines(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("ops.cost.cost", fail)
    monkeypatch.setattr(sys, "argv", ["ops", "cost", "--stack", "dev"])
    monkeypatch.setattr("ops.pulumi.interruption.install", lambda _: None)
    with pytest.raises(SystemExit) as ended:
        ops.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: pip failed:\nerror: no space left\n"
