"""What no message may show of a stack file: values of keys that are named like a secret's, and texts that look so."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

HIDDEN = "[secret]"
SECRETS = (("huggingFace", "token"), ("ngc", "apiKey"), ("ingress", "apiKeys"))
"""Section and key of what has to be encrypted; the last is a mapping of such."""
_SECRET_SECTIONS = {section for section, _ in SECRETS}
"""What is written there in another way than it should be may be a token or a key."""
_SECRET_KEYS = re.compile(r"(token|api_?keys?|password|passphrase|credentials?)$", re.IGNORECASE)
_SECRET_NAMES = re.compile("secret$", re.IGNORECASE)
"""Keys that take a Secret's name, where the secret itself is sometimes written."""
_SECRET = "|".join(
    (
        r"\bhf_[A-Za-z0-9]{12,}",
        r"\bnvapi-[\w-]{12,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}",
        r"\bsk-(?=[\w-]*\d)[\w-]{20,}",  # of OpenAI and Anthropic; a digit, as `sk-` may begin a name
        r"\b(?:gh[opsru]_|github_pat_|glpat-)[\w-]{20,}",
        r"\bpul-[0-9a-f]{40}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----|.*)",
        r"(?<=://)[^/\s@'\"]+:[^/\s@'\"]+(?=@)",  # `user:password` of an address
    )
)
"""Tokens and keys that are known by their looks."""
_LOOKS_SECRET = re.compile(_SECRET)
_MAY_BE_SECRET = re.compile(
    rf"{_SECRET}|(?<=[tT]oken\": \")[^\"]+|(?<=[tT]oken\":\")[^\"]+|(?<=[tT]oken=)[^\s'\",]+"
)
"""Also what follows the word `token`."""
_LONGEST = 120


def shown(path: Sequence[str], given: Any, *, misplaced: bool, encrypted: bool) -> str:
    """A value as a message shows it; of a mapping its keys.

    path: its keys, from the top. misplaced: whether it stands where something else should, or under no known key.
    encrypted: whether its section holds a Pulumi secret.
    """
    named = any(map(_SECRET_KEYS.search, path)) or _SECRET_NAMES.search(path[-1])
    # Where a secret belongs, its key says which of the values it is.
    unexpected = misplaced if path[0] in _SECRET_SECTIONS else encrypted
    if named or unexpected:
        return HIDDEN
    # Before it is cut or quoted: half a token, or one behind the `n` of a line's end, looks like none.
    seen = _without_secrets_in([*map(str, given)] if isinstance(given, Mapping) else given)
    text = "{" + visible(", ".join(seen)) + "}" if isinstance(given, Mapping) else repr(seen)
    return cut(text)


def cut(text: str) -> str:
    """The text, or how it begins and how long it is."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def without_secrets(text: str) -> str:
    """The text without what looks like a token, a key or a password."""
    return _MAY_BE_SECRET.sub(HIDDEN, text)


def _without_secrets_in(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_secrets_in(item) for item in value]
    if isinstance(value, Mapping):
        return {_without_secrets_in(key): _without_secrets_in(item) for key, item in value.items()}
    return without_secrets(value) if isinstance(value, str) else value


def visible(text: str) -> str:
    """The text on one line, with what cannot be seen as an escape, and without what looks like a secret."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in without_secrets(text))


def readable_secrets(value: Any, path: str = "") -> Iterator[str]:
    """Keys of texts that look like a secret and go to where many can read them.

    value: the config's sections by name, or what is below the path.
    """
    if isinstance(value, str) and _LOOKS_SECRET.search(value):
        yield path
    for key, item in value.items() if isinstance(value, Mapping) else ():
        if (path, key) not in SECRETS:
            yield from readable_secrets(item, f"{path}.{visible(str(key))}".removeprefix("."))
    for index, item in enumerate(value if isinstance(value, list) else ()):
        yield from readable_secrets(item, f"{path}[{index}]")
