"""An engine that answers every request with nothing, as a stalled KV transfer can."""

from typing import Any

from dynamo.common.backend.run import run

from embedded.engines.model import SPECIAL_TOKENS
from embedded.engines.scripted import ScriptedEngine


class EmptyEngine(ScriptedEngine):
    def _tokens(self, request: dict[str, Any]) -> tuple[list[int], str]:
        return [SPECIAL_TOKENS["<|return|>"]], "stop"


if __name__ == "__main__":
    run(EmptyEngine)
