"""What has to hold of any stack file: it is refused in sentences that name its keys, or the whole of it is written.

A case goes the way that `ops synth` takes: the file is read, the program is run with it, the tree is written.
"""

import contextlib
import io
import json
import re
import shutil
import signal
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pulumi
from jsonschema import Draft7Validator, ValidationError

from ops import synth
from ops.evaluate import Evaluation, evaluate
from ops.pulumi import stack_config, yaml_file
from ops.pulumi.stack_file import StackFile
from stacks.hidden import HIDDEN, cut, visible, without_secrets
from stacks.load import from_text
from stacks.settings import PROJECT as PREFIX
from targets.errors import UserError
from tests.operator import fields
from tests.project import PROJECT
from tests.stacks.fuzz import values
from tests.stacks.fuzz.grammar import MARK, Case

STACK = "fuzz"
FILE = f"Pulumi.{STACK}.yaml"
_CEILING = 120
"""Seconds after which a file counts as one that hangs its reader."""
_KEY = re.compile(rf"({re.escape(FILE)}|[^:\s]+:).+")
_FIELDS = fields.read()
_SCHEMA = Draft7Validator(values.FILE)
_UNSEEN = "which cannot be seen"
"""Of a value with such a character nothing else is said."""


@dataclass
class Counts:
    """How cases ended. wrong: what does not hold, by the case's number."""

    refused: int = 0
    accepted: int = 0
    tracebacks: int = 0
    refused_later: int = 0
    wrong: dict[int, str] = field(default_factory=dict)

    def line(self) -> str:
        """All of it."""
        cases = self.refused + self.accepted + self.tracebacks
        return (
            f"cases {cases}, refused {self.refused}, accepted {self.accepted}, tracebacks {self.tracebacks}, "
            f"accepted but refused later {self.refused_later}"
        )


def project(folder: Path) -> Path:
    """A folder in which stack files can be written."""
    shutil.copy(PROJECT / "Pulumi.yaml", folder)
    return folder


def hold(folder: Path, case: Case, counts: Counts) -> Evaluation | None:
    """Counts the case; returns what an accepted one would register.

    folder: made by `project`.
    """
    path, said = folder / FILE, io.StringIO()
    path.write_bytes(case.content)
    shutil.rmtree(folder / "out", ignore_errors=True)
    try:
        with _ceiling(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            file = stack_config.load(folder, STACK)
            evaluation = evaluate(PROJECT, file)
            written = [*synth.write_tree(evaluation, folder / "out")]
    except (UserError, pulumi.RunError) as refusal:
        counts.refused += 1
        _keep(counts, case, refused_wrongly(folder, case, f"{refusal}", said.getvalue()))
        return None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        counts.tracebacks += 1
        counts.wrong[case.number] = "".join(traceback.format_exception(error))
        return None
    counts.accepted += 1
    problems = [*accepted_wrongly(folder, case, file, evaluation, written)]
    counts.refused_later += bool(problems)
    _keep(counts, case, problems)
    return evaluation


def _keep(counts: Counts, case: Case, problems: list[str]) -> None:
    if problems:
        counts.wrong[case.number] = "\n".join(problems)


def refused_wrongly(folder: Path, case: Case, message: str, said: str) -> list[str]:
    """What is wrong with a refusal. said: what was printed beside it."""
    lines = message.splitlines()
    found = (
        [f"no key is named: {line!r}" for line in lines if not _KEY.fullmatch(line)]
        if lines
        else ["nothing is said"]
    )
    found += [f"cannot be printed: {line!r}" for line in lines if not line.isprintable()]
    found += [f"too long to be read: {len(line)} characters" for line in lines if len(line) > 3000]
    if said:
        found.append(f"printed beside the refusal: {said[-2000:]}")
    if case.token and MARK in (message + said).lower():
        found.append(f"shows {case.token!r}: {message}")
    if (folder / "out").exists():
        found.append("a part of the tree is written")
    if lines and not lines[0].startswith(FILE):
        found += [
            f"{key}: {error.message[:300]}: {problem} in\n{message}"
            for key, error in said_by_schema(folder)
            if (problem := _untold(key, error, lines))
        ]
    return found


def accepted_wrongly(
    folder: Path, case: Case, file: StackFile, evaluation: Evaluation, written: list[Path]
) -> Iterator[str]:
    """What is wrong with a tree that was written."""
    for key, error in said_by_schema(folder):
        if not _in_other_words(error.instance):
            yield f"the schema refuses {key}: {error.message[:300]}"
    for path in written:
        if case.token and MARK in path.read_text().lower():
            yield f"{path.name} shows {case.token!r}"
    odd: list[str] = []
    json.loads(written[0].read_text(), parse_constant=odd.append)
    yield from (f"{each} is no number of JSON" for each in odd)
    line = from_text(file.config, set(file.secret_keys)).platform.wanted.version.line
    for each in synth.manifests(evaluation):
        if each.inputs["kind"] == "DynamoGraphDeployment":
            yield from fields.faults(synth.mask(each.inputs), line, _FIELDS)


def _in_other_words(given: Any) -> bool:
    """Whether it is a truth or a number as the program takes it too, and an editor does not: `yes`, 0, "2"."""
    with contextlib.suppress(TypeError, ValueError):
        return given in (0, 1) or float(given) == float(given)
    return isinstance(given, str) and given.lower() in {
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "t",
        "f",
        "true",
        "false",
    }


def said_by_schema(folder: Path) -> list[tuple[str, ValidationError]]:
    """What an editor says of the stack file: each key and what is wrong with it."""
    content = yaml_file.read(folder / FILE)
    config = content.get("config")
    if isinstance(config, Mapping):
        full = {
            key if ":" in key else f"{PREFIX}:{key}": _structured(key, value) for key, value in config.items()
        }
        content = {**content, "config": full}
    found = (each for error in _SCHEMA.iter_errors(content) for each in _branches(error))
    return [(_key(error), error) for error in found if error.absolute_path]


def _branches(error: ValidationError) -> Iterator[ValidationError]:
    """Of a choice between shapes what is wrong with each but null."""
    others = [each for each in error.context or () if each.validator_value != "null"]
    if error.validator != "anyOf" or not others:
        yield error
    for each in others if error.validator == "anyOf" else ():
        yield from _branches(each)


def _structured(key: str, value: Any) -> Any:
    """A section that is written as the text of its JSON, as `pulumi config set` does, is that section."""
    if isinstance(value, str) and key.rpartition(":")[2] != "target":
        with contextlib.suppress(ValueError):
            return json.loads(value)
    return value


def _key(error: ValidationError) -> str:
    """As a refusal writes it: a token that stands for a key is hidden, too."""
    path = [*error.absolute_path][1:]
    parts = (f"[{part}]" if isinstance(part, int) else f".{cut(visible(part))}" for part in path)
    return without_secrets("".join(parts).removeprefix("."))


def _untold(key: str, error: ValidationError, lines: list[str]) -> str:
    """What the refusal lacks of it: a line about the key or what is above or below it, its value, what is allowed."""
    if isinstance(error.instance, Mapping) and "secure" in error.instance:
        return ""  # an encrypted text, wherever it is
    about = [line for line in lines if _is_about(line, key)]
    exactly = [line for line in about if line.startswith(f"{key}: ")]
    if not about:
        return "" if _in_other_words(error.instance) else "not told"
    if not exactly or any(_UNSEEN in line for line in exactly):
        return ""
    said, given = "\n".join(exactly), error.instance
    if (
        isinstance(given, str | int | float)
        and len(str(given)) < 50
        and not any(
            each in said for each in (repr(given), str(given), json.dumps(given), HIDDEN, "is not encrypted")
        )
    ):
        return f"its value {given!r} is not named"
    # Of what is not even text, that is said first.
    choices: Any = error.validator_value if error.validator == "enum" and isinstance(given, str) else ()
    missing = [each for each in choices if isinstance(each, str) and each not in said]
    return f"{missing} are not named as allowed" if missing else ""


def _is_about(line: str, key: str) -> bool:
    named = line.partition(": ")[0].rstrip(":")
    return bool(named) and (named.startswith(key) or key.startswith(named))


@contextlib.contextmanager
def _ceiling() -> Iterator[None]:
    def end(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it hangs: not done within {_CEILING} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(_CEILING)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
