"""The only reader of `pulumi.Config`: from a stack's config to its plan, or to a sentence for each of its problems."""

import difflib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pulumi
from pulumi.runtime.config import get_config_env, is_config_secret
from pydantic import ValidationError

from stacks.plan import StackPlan, resolve
from stacks.rules.pools import assignment_problems, is_assignable
from stacks.rules.stack import cluster_problems, graph_problems
from stacks.sentences import by_alias, sentences
from stacks.settings import PLAIN_KEYS, PROJECT, SWITCHES, ConfigError, Settings


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
    if misspelt:
        raise ConfigError("\n".join(misspelt))
    return stack


def parse(values: Mapping[str, Any], secret_keys: set[str]) -> StackPlan:
    """A stack from config values. secret_keys: top-level keys that hold a Pulumi secret. Raises ConfigError."""
    try:
        settings = Settings.model_validate(values, by_alias=True, by_name=False)
    except ValidationError as invalid:
        raise ConfigError("\n".join(sentences(invalid, Settings, PROJECT, secret_keys))) from None
    stack = resolve(settings)
    found = [
        *cluster_problems(stack),
        *assignment_problems(settings.pools, settings.graphs),
        # Of graphs on pools that nobody knows nothing else can be told.
        *(graph_problems(stack) if is_assignable(settings.pools, settings.graphs) else ()),
        *_plain_secrets(settings, secret_keys),
    ]
    if found:
        raise ConfigError("\n".join(f"{PROJECT}:{problem}" for problem in found))
    return stack


def _misspelt_projects(config: Iterable[str]) -> Iterator[str]:
    for key in config:
        namespace, _, name = key.partition(":")
        if namespace != PROJECT and difflib.get_close_matches(namespace, [PROJECT], cutoff=0.8):
            yield f"{key}: nothing reads keys of {namespace}; write {PROJECT}:{name}"


def _plain_secrets(settings: Settings, secret_keys: Collection[str]) -> Iterator[str]:
    """Tokens and keys that stand in the stack file for everybody to read."""
    for section, key, value in (
        ("huggingFace", "token", settings.hugging_face.token),
        ("ngc", "apiKey", settings.ngc.api_key),
        ("ingress", "apiKeys", settings.ingress.api_keys or None if settings.ingress else None),
    ):
        if value is not None and section not in secret_keys:
            yield (
                f"{section}.{key}: the value is not encrypted; set it with "
                f"`pulumi config set --secret --path {PROJECT}:{section}.{key}`"
            )


def _value(key: str, text: str) -> Any:
    if key in PLAIN_KEYS:
        return text
    if key in SWITCHES and text in ("off", "false"):
        return {"enabled": False}
    with suppress(ValueError):
        return json.loads(text)
    return text
