"""`ops diff`: what a commit would change in every stack, found without credentials.

Both revisions are synthesised by their own code, the base in a temporary git worktree.
"""

import difflib
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from embedded.processes import Report
from ops.diff.changes import MISSING, Action, DiffFormat, FieldChange, ResourceChange
from ops.diff.compare import field_changes, resource_changes
from ops.diff.price_change import price_change
from ops.fingerprint import KEY_VARIABLE, PLAIN
from ops.pulumi import stack_config
from ops.pulumi.stack_file import stacks
from stacks.load import from_text
from stacks.rollout import settings
from targets.errors import UserError
from targets.timeline import Setting

_SIGN = {Action.CREATE: "+", Action.UPDATE: "~", Action.HANDLE: "·", Action.REPLACE: "±", Action.DELETE: "-"}
_WIDTH = 200
"""Characters of a value that are shown; what is longer is cut."""


class DiffError(UserError):
    """The revisions cannot be compared; one sentence."""


@dataclass(frozen=True, kw_only=True)
class StackDiff:
    """One stack. state: changed, added, removed, unchanged or unknown; problem: why it is unknown.

    price: what it costs by the hour before and after, empty where that does not change.
    """

    stack: str
    state: str
    resources: tuple[ResourceChange, ...] = ()
    outputs: tuple[FieldChange, ...] = ()
    problem: str = ""
    price: str = ""


def diff(project: Path, base: str, report: Report = lambda _: None) -> list[StackDiff]:
    """Every stack of either revision, by name. base: any git revision; the head is the working tree.

    report: hears of each stack that is evaluated, which takes seconds.

    Raises DiffError if the base is no commit or has no `ops synth`, or if a stack of the head cannot be synthesised.
    """
    environment = os.environ | {KEY_VARIABLE: secrets.token_hex(32)}
    environment.pop("PYTHONPATH", None)
    with _worktree(project, base) as old:
        before, after = stacks(old), stacks(project)
        jobs = [(old, stack) for stack in before] + [(project, stack) for stack in after]
        answers = {}
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            asked = {
                pool.submit(_synth, folder, stack, environment): (folder, stack) for folder, stack in jobs
            }
            for done in as_completed(asked):
                folder, stack = asked[done]
                answers[folder, stack] = done.result()
                where = base if folder == old else "the working tree"
                report(f"{len(answers)} of {len(jobs)}: evaluated {stack} of {where}")
        return [
            _compare(project, stack, answers.get((old, stack)), answers.get((project, stack)))
            for stack in sorted({*before, *after})
        ]


def render(diffs: list[StackDiff], base: str, form: DiffFormat) -> str:
    """The diffs as text. Secrets are shown as `[secret]`, a changed one as changed."""
    if form is DiffFormat.JSON:
        return json.dumps([_plain(each) for each in diffs], indent=2, ensure_ascii=False) + "\n"
    changed = [each for each in diffs if each.state != "unchanged"]
    if not changed:
        return f"No stack changes since {base}.\n"
    lines = _markdown(changed, base) if form is DiffFormat.MD else _text(changed)
    quiet = [each.stack for each in diffs if each.state == "unchanged"]
    return "\n".join([*lines, *([f"Unchanged: {', '.join(quiet)}"] if quiet else [])]) + "\n"


@contextmanager
def _worktree(project: Path, revision: str) -> Iterator[Path]:
    """The revision's files in a temporary folder."""

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "-C", str(project), *arguments], capture_output=True, text=True, check=False
        )

    commit = git(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    ).stdout.strip()
    if not commit:
        raise DiffError(f"--base: {revision!r} is no commit here; fetch it first, or choose another")
    with tempfile.TemporaryDirectory(prefix="ops-diff-") as folder:
        tree = Path(folder) / "base"
        made = git("worktree", "add", "--detach", "--force", str(tree), commit)
        try:
            if made.returncode:
                raise DiffError(f"--base: {revision!r} cannot be checked out: {made.stderr.strip()}")
            if not (tree / "ops" / "synth.py").exists():
                raise DiffError(
                    f"--base: {revision!r} has no `ops synth` to compare with; choose a later commit"
                )
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


@dataclass(frozen=True)
class _Synth:
    resources: Mapping[str, Any] | None
    problem: str = ""


def _synth(project: Path, stack: str, environment: Mapping[str, str]) -> _Synth:
    done = subprocess.run(
        [sys.executable, "-m", "ops", "synth", "--stack", stack, "--format", "json"],
        cwd=project,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return _Synth(None, lines[-1].removeprefix("error: "))
    return _Synth(json.loads(done.stdout))


def _compare(project: Path, stack: str, base: _Synth | None, head: _Synth | None) -> StackDiff:
    if head is not None and head.problem:
        raise DiffError(f"--stack {stack}: it cannot be synthesised: {head.problem}")
    if base is not None and base.problem:
        return StackDiff(
            stack=stack, state="unknown", problem=f"the base cannot be synthesised: {base.problem}"
        )
    before, after = base.resources if base else None, head.resources if head else None
    resources = tuple(resource_changes(before, after, _settings(project, stack) if base and head else {}))
    outputs = tuple(field_changes((before or {}).get("outputs", {}), (after or {}).get("outputs", {})))
    changed = "changed" if resources or outputs else "unchanged"
    return StackDiff(
        stack=stack,
        state="added" if base is None else "removed" if head is None else changed,
        resources=resources,
        outputs=outputs if base and head else (),
        price=price_change((before or {}).get("outputs", {}), (after or {}).get("outputs", {})),
    )


def _settings(project: Path, stack: str) -> dict[str, Setting]:
    """What of the stack in the working tree decides its rollout, by the component of a pool's nodes."""
    stack_file = stack_config.load(project, stack)
    return settings(from_text(stack_file.config, set(stack_file.secret_keys)))


def _text(diffs: Iterable[StackDiff]) -> Iterator[str]:
    for each in diffs:
        yield f"{each.stack}: {_summary(each)}"
        for component, resources in _by_component(each):
            yield f"  {component}"
            for resource in resources:
                yield f"    {_SIGN[resource.action]} {_title(resource)}"
                yield from (f"        {remark}" for remark in _remarks(resource))
                yield from (f"        {_line(field, resource)}" for field in resource.fields)
        yield from (f"  output {_line(field)}" for field in each.outputs)


def _markdown(diffs: Iterable[StackDiff], base: str) -> Iterator[str]:
    yield f"### What would change since `{base}`\n"
    for each in diffs:
        yield f"<details><summary><b>{each.stack}</b>: {_summary(each)}</summary>\n"
        for component, resources in _by_component(each):
            yield f"**{component}**\n"
            for resource in resources:
                yield f"- `{_SIGN[resource.action]}` {_title(resource)}"
                yield from (f"  - **{remark}**" for remark in _remarks(resource))
                yield from (f"  - {_line(field, resource, mark='`')}" for field in resource.fields)
            yield ""
        yield from (f"- output {_line(field, mark='`')}" for field in each.outputs)
        yield "</details>\n"


def _remarks(resource: ResourceChange) -> list[str]:
    """What a user should know of a change before it is made."""
    refused = f"`up` refuses this as things are: {resource.refused}" if resource.refused else ""
    return [remark for remark in (resource.downtime, refused) if remark]


def _summary(each: StackDiff) -> str:
    if each.problem:
        return each.problem
    counts = {action: sum(r.action is action for r in each.resources) for action in Action}
    parts = [f"{count} to {action}" for action, count in counts.items() if count]
    if each.outputs:
        parts.append(f"{len(each.outputs)} output(s) change")
    if each.price:
        parts.append(each.price)
    return ", ".join(([f"stack {each.state}"] if each.state != "changed" else []) + parts)


def _by_component(each: StackDiff) -> Iterator[tuple[str, list[ResourceChange]]]:
    ordered = sorted(each.resources, key=lambda resource: resource.component)
    for component, resources in groupby(ordered, key=lambda resource: resource.component):
        yield component, list(resources)


def _title(resource: ResourceChange) -> str:
    reason = (
        f", replaced because {', '.join(resource.replaced_for)} cannot change"
        if resource.replaced_for
        else ""
    )
    return f"{resource.type} {resource.name}{reason}"


def _line(field: FieldChange, resource: ResourceChange | None = None, mark: str = "") -> str:
    forces = " (forces the replacement)" if resource and field.path in resource.replaced_for else ""
    if field.secret:
        return f"{mark}{field.path}{mark}: {PLAIN}, changed{forces}"
    change = _lines_changed(field) or f"{_show(field.before, mark)} → {_show(field.after, mark)}"
    return f"{mark}{field.path}{mark}: {change}{forces}"


def _lines_changed(field: FieldChange) -> str:
    """A change of a text of several lines, in numbers."""
    if not (
        isinstance(field.before, str) and isinstance(field.after, str) and "\n" in field.before + field.after
    ):
        return ""
    changes = [line[:1] for line in difflib.ndiff(field.before.splitlines(), field.after.splitlines())]
    return f"{changes.count('+')} lines more, {changes.count('-')} lines less"


def _show(value: Any, mark: str) -> str:
    if value is MISSING:
        return "nothing"
    text = json.dumps(_hidden(value), ensure_ascii=False, sort_keys=True)
    cut = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}… ({len(text)} characters)"
    return f"{mark}{cut.replace('`', 'ˋ') if mark else cut}{mark}"


def _hidden(value: Any) -> Any:
    """Fingerprints of secrets are for comparison alone."""
    if isinstance(value, Mapping):
        return {key: _hidden(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return PLAIN if isinstance(value, str) and value.startswith("[secret ") else value


def _plain(each: StackDiff) -> dict[str, Any]:
    def field(change: dict[str, Any]) -> dict[str, Any]:
        return {key: _hidden(value) for key, value in change.items() if value is not MISSING}

    written = asdict(each)
    for resource in written["resources"]:
        resource["fields"] = [field(change) for change in resource["fields"]]
    written["outputs"] = [field(change) for change in written["outputs"]]
    return written
