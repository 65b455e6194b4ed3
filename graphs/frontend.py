"""The OpenAI-compatible frontend: `python3 -m dynamo.frontend`. Pure."""

from graphs.command import Command, flags
from graphs.names import HTTP_PORT, VOCABULARY_PATH
from targets.plan import GraphPlan


def command(plan: GraphPlan) -> Command:
    """The frontend's command line."""
    kv = plan.router_mode == "kv"
    args = flags(
        [
            ("--router-mode", plan.router_mode),
            ("--kv-cache-block-size", plan.target.kv_block_size if kv else None),
            ("--http-port", HTTP_PORT),
        ]
    )
    return Command(
        module="dynamo.frontend",
        args=(*args, *plan.knobs.frontend.extra_args),
        env={"TIKTOKEN_ENCODINGS_BASE": VOCABULARY_PATH},
    )
