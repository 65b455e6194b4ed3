"""`init`: ask what a stack is to be, and write its file; what cannot work is refused at the answer that makes it so."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from embedded.paths import PROJECT
from ops.evaluate import evaluate
from ops.policy import check
from ops.pulumi.stack_file import StackFile
from ops.questions import QUESTIONS, Answers, Question, instance
from policy.check import Finding
from stacks.load import parse
from stacks.sections.policy import Rule
from stacks.settings import PROJECT as NAME
from stacks.settings import ConfigError
from targets.errors import UserError

_HEAD = "# yaml-language-server: $schema=stacks/schema.json\n"
_STACK_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


class AnswerError(UserError):
    """An answer that cannot be, or that is missing; the message says which and why."""


def init(
    stack: Annotated[str | None, typer.Argument(help="Name of the new stack; asked where left out.")] = None,
    answers: Annotated[
        Path | None, typer.Option(help="YAML with the answers, by key, instead of asking.")
    ] = None,
) -> None:
    """Ask what a new stack is to be, and write its file."""
    name = stack_name(stack or typer.prompt("Name of the stack"))
    given = asked(name) if answers is None else read(name, answers)
    path = PROJECT / f"Pulumi.{name}.yaml"
    with path.open("x", encoding="utf-8") as file:
        file.write(written(given))
    for finding in findings(name, given):
        typer.echo(f"{finding}; see docs/policies.md")
    typer.echo(
        f"{path.name} is written. Next: make synth STACK={name}, make cost STACK={name}, make doctor STACK={name}"
    )


def stack_name(name: str) -> str:
    """The name if a stack can bear it and none does. Raises AnswerError."""
    if not _STACK_NAME.fullmatch(name):
        raise AnswerError(
            f"STACK: {name!r} is no name of a stack; letters, digits, dots, dashes and underscores are"
        )
    if (PROJECT / f"Pulumi.{name}.yaml").exists():
        raise AnswerError(
            f"STACK: Pulumi.{name}.yaml is there already; choose another name, or edit that file"
        )
    return name


def asked(name: str) -> dict[str, Any]:
    """Answers of whoever sits there; a question is asked again until its answer can be."""
    answers: dict[str, Any] = {}
    while (question := _next(answers)) is not None:
        text = (
            question.text
            + "".join(f"\n  {choice}" for choice in question.choices(answers))
            + f"\n{question.key}"
        )
        answer = typer.prompt(text, default=question.default(answers), err=True)
        if problems := refusals(name, question, answer, answers):
            typer.echo("\n".join(f"error: {problem}" for problem in problems), err=True)
        else:
            answers[question.key] = value_of(question, answer)
    return answers


def read(name: str, file: Path) -> dict[str, Any]:
    """Answers of a file. Raises AnswerError at the first that cannot be, and for one that no question asks."""
    try:
        given = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise AnswerError(f"{file}: {reason}") from None
    if not isinstance(given, Mapping):
        raise AnswerError(f"{file}: not a mapping of keys to answers")
    answers: dict[str, Any] = {}
    while (question := _next(answers)) is not None:
        default = question.default(answers)
        answer = given.get(question.key, default)
        if answer is None or (answer == "" and default is None):
            raise AnswerError(f"{file}: {question.key}: no answer. {question.text}")
        if problems := refusals(name, question, answer, answers):
            raise AnswerError("\n".join(f"{file}: {question.key}: {problem}" for problem in problems))
        answers[question.key] = value_of(question, answer)
    if left := [key for key in given if key not in answers]:
        raise AnswerError(
            f"{file}: {', '.join(map(str, left))}: not asked for such a stack; leave it out. "
            f"Asked are {', '.join(answers)}"
        )
    return answers


def value_of(question: Question, answer: Any) -> Any:
    """What an answer means; one that is no text, from a file, stands for itself."""
    return question.parse(answer) if isinstance(answer, str) and answer else answer


def refusals(name: str, question: Question, answer: Any, before: Answers) -> list[str]:
    """Why an answer cannot be, by the settings' own rules; those about keys that are still to be asked aside."""
    try:
        answers = {**before, question.key: value_of(question, answer)}
    except yaml.YAMLError as error:
        return [f"{answer!r} is not YAML: {error}"]
    choices = question.choices(before)
    if choices and value_of(question, answer) not in [value_of(question, choice) for choice in choices]:
        return [f"{answer!r} is not allowed; choose one of {', '.join(choices)}"]
    pending = _pending(answers)
    complete = _with_stand_ins(answers, pending)
    try:
        parse(nested(complete), set())
        problems = [
            line for line in _of_a_deployment(complete) if not pending or line.startswith(f"{question.key}:")
        ]
    except ConfigError as refused:
        later = QUESTIONS[QUESTIONS.index(question) + 1 :] if pending else ()
        keys = {each.key for each in later}
        problems = [line for line in str(refused).splitlines() if not _is_about(line, keys)]
    if pending or problems:
        return problems
    return [str(finding) for finding in findings(name, answers) if finding.rule is Rule.PRICE_CEILING]


def findings(name: str, answers: Answers) -> list[Finding]:
    """What the whole stack breaks of the rules of policy/."""
    config = {
        f"{NAME}:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in nested(answers).items()
    }
    file = StackFile(project=NAME, stack=name, config=config, secret_keys=frozenset())
    return check(evaluate(PROJECT, file), file)


def nested(answers: Answers) -> dict[str, Any]:
    """The config that answers make; nothing of those that are empty."""
    config: dict[str, Any] = {}
    for key, value in answers.items():
        *above, last = key.split(".")
        if value == "":
            continue
        place = config
        for part in above:
            place = place.setdefault(part, {})
        node = instance(answers)
        place[last] = (
            {node.name: value} if key == "prices" and node and not isinstance(value, Mapping) else value
        )
    return config


def written(answers: Answers) -> str:
    """The stack file, each key below what it was asked by."""
    comments = {question.key: question.text for question in QUESTIONS}

    def lines(values: Mapping[str, Any], above: str) -> Iterator[str]:
        indent = "  " * (above.count(".") + 1)
        for key, value in values.items():
            path = f"{above}{key}"
            if path in comments:
                yield f"{indent}# {comments[path]}"
            shown = key if above else f"{NAME}:{key}"
            if isinstance(value, Mapping):
                yield f"{indent}{shown}:"
                yield from lines(value, f"{path}.")
            else:
                yield f"{indent}{shown}: {_flow(value)}"

    config = "\n".join(lines(nested(answers), ""))
    return f"{_HEAD}# Written by `python -m ops init`. Every key: docs/configuration.md.\nconfig:\n{config}\n"


def _flow(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("...\n").strip()


def _pending(answers: Answers) -> list[Question]:
    """Questions that are still to be asked, as far as the answers tell."""
    if "target" not in answers or "cluster.kind" not in answers:
        return [question for question in QUESTIONS if question.key not in answers]
    return [question for question in QUESTIONS if question.key not in answers and question.asked(answers)]


def _next(answers: Answers) -> Question | None:
    return next(iter(_pending(answers)), None)


def _with_stand_ins(answers: Answers, pending: list[Question]) -> dict[str, Any]:
    """The answers, and good enough ones to what is not asked yet: where it is, and then what follows from that."""
    complete = dict(answers)
    for question in pending:
        can_be_judged = question.key == "cluster.kind" or "cluster.kind" in answers
        value = question.stands_in(complete) if can_be_judged else None
        if value is not None:
            complete[question.key] = value
    return complete


def _is_about(line: str, keys: set[str]) -> bool:
    """Whether a problem is about one of these keys, or about what holds one of them."""
    about = line.removeprefix(f"{NAME}:").partition(":")[0]
    return any(about == key or key.startswith(f"{about}.") or about.startswith(f"{key}.") for key in keys)


def _of_a_deployment(answers: Answers) -> Iterator[str]:
    """What a deployment demands beyond what can work."""
    if answers.get("cluster.kind") in ("eks", "existing-eks"):
        from stacks.before_up import problems  # noqa: PLC0415 loads AWS's SDK

        yield from problems(parse(nested(answers), set()), datetime.now(UTC).date())
