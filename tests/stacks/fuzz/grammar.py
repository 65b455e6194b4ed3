"""Stack files by number: a shipped one changed in what is allowed, in what is not, and in how it is written."""

import copy
import string
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import yaml

from ops.pulumi.stack_file import stacks
from stacks.hidden import SECRETS
from stacks.settings import PROJECT as PREFIX
from tests.project import PROJECT
from tests.stacks.fuzz import values
from tests.stacks.fuzz.damage import damaged

TOKENS = {
    "of Hugging Face": "hf_QwErTyUiOpAsDfGhJkLzXcVbNm1234567",
    "of NVIDIA": "nvapi-QwErTyUiOpAsDfGhJkLzXcVbNm-12345678",
    "of AWS": "AKIAQ3EGXMPLWERTYUIO",
    "of OpenAI": "sk-proj-QwErTyUiOpAsDfGhJkLz1234567890XcVb",
    "of GitHub": "ghp_QwErTyUiOpAsDfGhJkLzXcVbNm1234567890",
    "a private key": (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAqWeRtYuIoP\nAsDfQwErTyUiOpGh\n-----END RSA PRIVATE KEY-----"
    ),
    "an address's password": "https://someone:QwErTyUiOpAs@registry.example.com/v1",
}
"""None is anybody's. By what each looks like."""
MARK = "wertyuio"
"""In every one of them, and in every line of one, if case is not looked at."""
_BASES = {
    "a cluster": {"target": "mocker-disagg-cpu", "cluster": {"kind": "existing"}},
    "GPUs of a cluster": {
        "target": "trtllm-disagg-b200",
        "cluster": {"kind": "existing", "efa": True},
        "platform": {"install": False, "grove": "external"},
    },
    "another stack's cluster": {
        "target": "vllm-disagg-h100",
        "cluster": {"kind": "stack", "stack": "acme/infra/prod"},
    },
    "a cluster on EKS": {
        "target": "vllm-disagg-h100",
        "cluster": {
            "kind": "existing-eks",
            "name": "ours",
            "region": "us-east-2",
            "subnets": {"us-east-2a": "subnet-01234567"},
        },
        "tags": {"ttl": "8h"},
    },
}
_CHEAP = 16
"""How many times rather a base above is taken than a shipped stack, most of which make a hundred resources on AWS."""


@dataclass(frozen=True)
class Case:
    """number: of the case in its seed. content: the file's bytes. token: a secret that it holds where none belongs."""

    number: int
    content: bytes
    token: str | None = None

    def shown(self) -> str:
        """The file as it can be printed."""
        return (
            self.content[:5000]
            .decode("utf-8", errors="backslashreplace")
            .encode("unicode_escape")
            .decode()
            .replace("\\n", "\n")
        )


@cache
def _bases() -> tuple[dict[str, Any], ...]:
    """Config sections by name."""
    files = (yaml.safe_load((PROJECT / f"Pulumi.{stack}.yaml").read_text()) for stack in stacks(PROJECT))
    shipped = [
        {key.removeprefix(f"{PREFIX}:"): value for key, value in each["config"].items()} for each in files
    ]
    return (*shipped, *[*_BASES.values()] * _CHEAP)


def case(seed: int, number: int) -> Case:
    """One of a seed's files; the same for ever."""
    random = Random(f"{seed}/{number}")
    config = copy.deepcopy(random.choice(_bases()))
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        _draw(config, random)
    manner = random.choices(("as it is", "changed", "with a token", "damaged"), (3, 4, 2, 2))[0]
    token = None
    if manner == "changed":
        for _ in range(random.choice((1, 1, 2, 3, 5))):
            _change(config, random)
    if manner == "with a token":
        token = random.choice([*TOKENS.values()])
        _plant(config, token, random)
    content = _written(config, random).encode()
    return Case(number, damaged(content, random) if manner == "damaged" else content, token)


def _written(config: dict[str, Any], random: Random) -> str:
    """The file, with its keys in one of the ways that Pulumi takes."""
    prefixed = random.random() < 0.9
    keys = {key if ":" in key or not prefixed else f"{PREFIX}:{key}": value for key, value in config.items()}
    return yaml.safe_dump(
        {"config": keys}, sort_keys=False, default_flow_style=random.choice((False, None, True)), width=200
    )


def _draw(config: dict[str, Any], random: Random) -> None:
    """A section, or one key of it, becomes what its schema takes."""
    key = random.choice([*values.SECTIONS])
    section, drawn = key.removeprefix(f"{PREFIX}:"), values.allowed(values.SECTIONS[key], random)
    if section in ("cluster", "target") and random.random() < 0.7:
        return
    now = config.get(section)
    if isinstance(now, dict) and isinstance(drawn, dict) and drawn and random.random() < 0.8:
        kind = {"kind"} if section == "cluster" else set()
        keys = [each for each in drawn if each not in kind] or [*drawn]
        now |= {each: drawn[each] for each in random.sample(keys, random.randint(1, min(2, len(keys))))}
    else:
        config[section] = drawn


def _change(config: dict[str, Any], random: Random) -> None:
    """Something becomes what it should not be: a value, a key, a place."""
    if not config:
        return
    path = random.choice([*values.leaves(config)])
    holder = _at(config, path[:-1])
    match random.choice(("value", "value", "value", "misspelt", "extra", "missing", "snake", "prefix")):
        case "value":
            holder[path[-1]] = copy.deepcopy(random.choice(values.ODD))
        case "misspelt" if isinstance(path[-1], str):
            holder[_misspelt(path[-1], random)] = holder.pop(path[-1])
        case "snake" if isinstance(path[-1], str):
            name = "".join(f"_{each.lower()}" if each.isupper() else each for each in path[-1])
            holder[name] = holder.pop(path[-1])
        case "missing":
            del holder[path[-1]]
        case "prefix":
            namespace = random.choice(("aws", "kubernetes", "dynamo-gptoss", "dynamo", "", " "))
            config[f"{namespace}:{path[0]}"] = config.pop(path[0])
        case _:
            odd = random.choice([each for each in values.ODD if isinstance(each, str)])
            name = random.choice(("extra", "Kind", "replica", odd))
            (holder if isinstance(holder, dict) else config)[name] = copy.deepcopy(random.choice(values.ODD))


def _misspelt(key: str, random: Random) -> str:
    place = random.randrange(len(key) or 1)
    return random.choice(
        (
            key[:place] + key[place + 1 :],
            key[:place] + random.choice(string.ascii_letters) + key[place:],
            key.upper(),
        )
    )


def _plant(config: dict[str, Any], token: str, random: Random) -> None:
    """A token stands for a text, for a key, in a text, or where it belongs but not encrypted."""
    match random.choice(("value", "value", "value", "key", "part", "secret")):
        case "secret":
            section, key = random.choice(SECRETS)
            config[section] = {key: random.choice((token, [token], {"me": token}, {"me": {"a": token}}))}
            return
        case manner:
            pass
    if random.random() < 0.5:
        # A text that the base lacks: any key of any section.
        key = random.choice([*values.SECTIONS])
        config.setdefault(key.removeprefix(f"{PREFIX}:"), values.allowed(values.SECTIONS[key], random))
    path = random.choice([*values.leaves(config)])
    holder = _at(config, path[:-1])
    if manner == "key" and isinstance(holder, dict):
        holder[token] = random.choice((1, "x", token, {}))
    else:
        holder[path[-1]] = f"--a={token}" if manner == "part" else token


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value
