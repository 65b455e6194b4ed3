"""The scripted engine with a fault: `python -m tests.embedded.bad_engine --fault NAME ...`.

empty: it answers every request with nothing, as a stalled KV transfer can. silent: it never answers.
"""

import asyncio
from typing import Any

from embedded.engines import worker
from embedded.engines.model import SPECIAL_TOKENS
from embedded.engines.scripted import ScriptedEngine, parser


class EmptyEngine(ScriptedEngine):
    def _tokens(self, request: dict[str, Any]) -> tuple[list[int], str]:
        return [SPECIAL_TOKENS["<|return|>"]], "stop"


class SilentEngine(ScriptedEngine):
    async def _read(self, request: dict[str, Any]) -> None:
        await asyncio.Event().wait()


if __name__ == "__main__":
    flags = parser()
    flags.add_argument("--fault", choices=("empty", "silent"), default="empty")
    given = flags.parse_args()
    engine = {"empty": EmptyEngine, "silent": SilentEngine}[given.fault](given)
    worker.run(engine.generate, given)
