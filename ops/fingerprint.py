"""Stand-ins for secrets: `[secret]`, or one that tells secrets apart for the length of one `ops diff`."""

import hashlib
import hmac
import json
import os
import re

KEY_VARIABLE = "OPS_SECRET_FINGERPRINT_KEY"
"""Set by `ops diff` to a random key of its own for the synths that it starts; the key is never written anywhere."""
PLAIN = "[secret]"
_PLACEHOLDER = re.compile(r"\[secret( [0-9a-f]{16})?\]")


def placeholder(secret: object) -> str:
    """What is shown for a secret. With a key, equal secrets get one fingerprint, which says nothing without the key."""
    key = os.environ.get(KEY_VARIABLE)
    if not key:
        return PLAIN
    text = json.dumps(secret, sort_keys=True, default=str)
    return f"[secret {hmac.new(bytes.fromhex(key), text.encode(), hashlib.sha256).hexdigest()[:16]}]"


def is_placeholder(text: object) -> bool:
    """Whether it is one of these."""
    return isinstance(text, str) and bool(_PLACEHOLDER.fullmatch(text))
