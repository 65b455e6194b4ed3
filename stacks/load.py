"""The only reader of `pulumi.Config`: from a stack's config to its plan, or to a sentence for each of its problems."""

import difflib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pulumi
from pulumi.runtime.config import get_config_env, is_config_secret
from pydantic import ValidationError

from stacks.hidden import SECRETS, readable_secrets, visible
from stacks.plan import StackPlan, resolve
from stacks.rules.pools import assignment_problems, is_assignable
from stacks.rules.stack import cluster_problems, graph_problems
from stacks.sections.cluster import AwsCluster, ExistingClusterSettings
from stacks.sentences import by_alias, sentences
from stacks.settings import PLAIN_KEYS, PROJECT, SWITCHES, ConfigError, Settings

_ESCAPED = re.compile(r"\\[xuU]")
"""In a key that cannot be seen, as a sentence writes it."""


def load() -> StackPlan:
    """Read and check the stack's config. Raises ConfigError with one line a problem."""
    config = pulumi.Config(PROJECT)
    # The environment tells unknown keys too; an inline program of the Automation API has its config elsewhere.
    written = get_config_env()
    own = {key.removeprefix(f"{PROJECT}:") for key in written if key.startswith(f"{PROJECT}:")}
    values = {key: config.get(key) for key in sorted({*by_alias(Settings), *own})}
    given = dict(written) | {f"{PROJECT}:{key}": text for key, text in values.items() if text is not None}
    return from_text(given, {key for key in given if is_config_secret(key)})


def from_text(config: Mapping[str, str], secret_keys: set[str]) -> StackPlan:
    """A stack from full config keys and their text, as Pulumi hands them out. Raises ConfigError."""
    own = {
        key.removeprefix(f"{PROJECT}:"): text for key, text in config.items() if key.startswith(f"{PROJECT}:")
    }
    misspelt = list(_misspelt_projects(config))
    values = {key: _value(key, text) for key, text in sorted(own.items())}
    try:
        stack = parse(values, {key.removeprefix(f"{PROJECT}:") for key in secret_keys})
    except ConfigError as error:
        raise ConfigError("\n".join([*misspelt, str(error)])) from None
    if found := [*misspelt, *_unread(config, stack)]:
        raise ConfigError("\n".join(found))
    return stack


def parse(values: Mapping[str, Any], secret_keys: set[str]) -> StackPlan:
    """A stack from config values. secret_keys: top-level keys that hold a Pulumi secret. Raises ConfigError."""
    unprintable = [
        line
        for key, value in sorted(values.items())
        for text in (key, value)
        for line in _unprintable(visible(key), text)
    ]
    try:
        settings = Settings.model_validate(values, by_alias=True, by_name=False)
    except ValidationError as invalid:
        told = [f"{PROJECT}:{line}" for line in unprintable]
        told += _besides(told, sentences(invalid, Settings, PROJECT, secret_keys))
        told += _besides(told, (f"{PROJECT}:{line}" for line in _plain_secrets(values, secret_keys)))
        raise ConfigError("\n".join(told)) from None
    _refuse([*unprintable, *_truths("", values, settings.model_dump(by_alias=True, exclude_unset=True))])
    stack = resolve(settings)
    _refuse(
        [
            *cluster_problems(stack),
            *assignment_problems(settings.pools, settings.graphs),
            # Of graphs on pools that nobody knows nothing else can be told.
            *(graph_problems(stack) if is_assignable(settings.pools, settings.graphs) else ()),
            *_plain_secrets(values, secret_keys),
        ]
    )
    return stack


def _refuse(problems: Iterable[str]) -> None:
    if found := [f"{PROJECT}:{problem}" for problem in problems]:
        raise ConfigError("\n".join(found))


def _misspelt_projects(config: Iterable[str]) -> Iterator[str]:
    for key in config:
        namespace, _, name = key.partition(":")
        if namespace != PROJECT and difflib.get_close_matches(namespace, [PROJECT], cutoff=0.8):
            yield f"{key}: nothing reads keys of {namespace}; write {PROJECT}:{name}"


def _unread(config: Iterable[str], stack: StackPlan) -> Iterator[str]:
    """Keys of Pulumi's own providers that say where to deploy, and would be passed over: the stack makes its own."""
    cluster = stack.cluster
    if isinstance(cluster, ExistingClusterSettings):
        own = {"kubernetes:context": cluster.context, "kubernetes:kubeconfig": cluster.kubeconfig}
        written = "cluster: {{ {} }}"
    else:
        own = {"aws:profile": cluster.aws.profile} if isinstance(cluster, AwsCluster) else {}
        written = "cluster: {{ aws: {{ {} }} }}"
    for key in (key for key, value in own.items() if key in config and value is None):
        name = key.partition(":")[2]
        yield f"{key}: nothing reads it; write {PROJECT}:{written.format(name + ': …')}"


def _unprintable(key: str, value: Any) -> Iterator[str]:
    """Texts with characters that no file, terminal or API shows, such as an escape or a change of direction."""
    match value:
        case str():
            found = next((each for each in value if not each.isprintable() and each not in "\n\t"), None)
            if found:
                yield f"{key}: holds the character U+{ord(found):04X}, which cannot be seen; leave it out"
        case Mapping():
            for name, below in value.items():
                yield from _unprintable(key, str(name))
                yield from _unprintable(f"{key}.{name}" if str(name).isprintable() else key, below)
        case list():
            for position, below in enumerate(value):
                yield from _unprintable(f"{key}[{position}]", below)


def _besides(told: Collection[str], lines: Iterable[str]) -> Iterator[str]:
    """Lines about other keys than those of which something was told, and than those that cannot be seen."""
    keys = {line.partition(": ")[0] for line in told}
    for line in lines:
        key = line.partition(": ")[0]
        if key not in keys and not _ESCAPED.search(key):
            yield line


def _truths(key: str, given: Any, read: Any) -> Iterator[str]:
    """Truth values where a number is read: pydantic takes true for 1."""
    if isinstance(given, bool) and isinstance(read, int | float) and not isinstance(read, bool):
        yield f"{key}: {given}: a number is wanted"
    elif isinstance(given, Mapping) and isinstance(read, Mapping):
        for name, value in given.items():
            yield from _truths(f"{key}.{name}".removeprefix("."), value, read.get(name))
    elif isinstance(given, list) and isinstance(read, list | tuple):
        for position, (value, below) in enumerate(zip(given, read, strict=False)):
            yield from _truths(f"{key}[{position}]", value, below)


def _plain_secrets(values: Mapping[str, Any], secret_keys: Collection[str]) -> Iterator[str]:
    """Tokens and keys that stand in the stack file for everybody to read, or would on the cluster."""
    for section, key in SECRETS:
        given = values.get(section)
        if isinstance(given, Mapping) and given.get(key) and section not in secret_keys:
            yield not_encrypted(f"{section}.{key}")
    for key in readable_secrets(values):
        yield (
            f"{key}: it holds what looks like a token, a key or a password, and goes to where everybody can read it; "
            "take it out"
        )


def not_encrypted(key: str) -> str:
    """What is said of a secret that is written as it is."""
    return (
        f"{key}: the value is not encrypted; set it with `pulumi config set --secret --path {PROJECT}:{key}`"
    )


def _value(key: str, text: str) -> Any:
    if key in PLAIN_KEYS:
        return text
    if key in SWITCHES and text in ("off", "false"):
        return {"enabled": False}
    with suppress(ValueError):
        return json.loads(text)
    return text
