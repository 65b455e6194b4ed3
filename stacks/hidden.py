"""What no message may show of a stack file: values of keys that are named like a secret's, and texts that look so."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "[secret]"
_SECRET_SECTIONS = {"huggingFace", "ingress", "ngc"}
"""What is written there in another way than it should be may be a token or a key."""
_SECRET_KEYS = re.compile(r"(token|api_?keys?|password|passphrase|credentials?)$", re.IGNORECASE)
_SECRET_NAMES = re.compile("secret$", re.IGNORECASE)
"""Keys that take a Secret's name, where the secret itself is sometimes written."""
_LOOKS_SECRET = re.compile(
    r"\bhf_[A-Za-z0-9]{12,}|\bnvapi-[\w-]+|\b(AKIA|ASIA)[A-Z0-9]{12,}|(?<=://)[^/\s@'\"]+(?=@)"
    r"|(?<=[tT]oken\": \")[^\"]+|(?<=[tT]oken\":\")[^\"]+|(?<=[tT]oken=)[^\s'\",]+"
)
"""Tokens of Hugging Face and NGC, keys of AWS, `user:password` of an address, what follows the word `token`."""
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
    text = "{" + ", ".join(map(str, given)) + "}" if isinstance(given, Mapping) else repr(given)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def without_secrets(text: str) -> str:
    """The text without what looks like a token, a key or a password."""
    return _LOOKS_SECRET.sub(HIDDEN, text)
