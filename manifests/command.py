"""What an engine module hands to the graph: a command line, environment and engine files. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from facts.engines import Engine, Role
from facts.releases import Version
from facts.weights import Weights
from manifests.names import CACHE_PATH
from targets.engine_knobs import KNOBS, EngineKnobs
from targets.strict import Strict

_PARSERS_SINCE = Version(1, 0)


@dataclass(frozen=True, kw_only=True)
class Command:
    """One container's command line. module: Python module run with `python3 -m`. files: engine files by name."""

    module: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def argv(self) -> list[str]:
        """The container's `command`; its `args` are the arguments."""
        return ["python3", "-m", self.module]


def variables(env: Mapping[str, str]) -> list[dict[str, str]]:
    """A container's `env`, in one order whatever the mapping's, so that a diff shows changes alone."""
    return [{"name": name, "value": value} for name, value in sorted(env.items())]


def flags(pairs: Iterable[tuple[str, object]]) -> list[str]:
    """Command-line words for (flag, value) pairs: None is left out, True is a bare flag, the rest `--flag value`."""
    words: list[str] = []
    for flag, value in pairs:
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def knob_words(engine: Engine, knobs: EngineKnobs, kind: type[Strict]) -> list[str]:
    """Command-line words for an engine's settings of one kind, a base of `EngineKnobs`."""
    given = (
        (KNOBS[name].argument(engine), value) for name, value in knobs.values() if name in kind.model_fields
    )
    return [word for argument, value in given if argument is not None for word in argument.words(value)]


def model_to_load(weights: Weights) -> str:
    """What an engine is told to load: the pinned snapshot's folder, or the model's name where no commit is pinned.

    Hugging Face's cache remembers the commit that `main` was when the model was downloaded.
    """
    if weights.revision == "main":
        return weights.model
    return f"{CACHE_PATH}/hub/models--{weights.model.replace('/', '--')}/snapshots/{weights.revision}"


def disaggregation_mode(role: Role) -> str | None:
    """Value of `--disaggregation-mode`; aggregated workers say nothing."""
    return None if role is Role.WORKER else role.value


def parsers(version: Version) -> list[tuple[str, object]]:
    """Reasoning and tool-call parsers, on every worker, prefill included; 0.4 knows no such flags."""
    if version < _PARSERS_SINCE:
        return []
    return [("--dyn-reasoning-parser", "gpt_oss"), ("--dyn-tool-call-parser", "harmony")]
