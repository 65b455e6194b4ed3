"""The OpenAI-compatible frontend: `python3 -m dynamo.frontend`, of the graph and beside its workers. Pure."""

from manifests.command import Command, flags
from manifests.graph.rolling import FRONTEND_MIGRATES_SINCE, MIGRATION_LIMIT, frontend_environment
from manifests.names import HTTP_PORT, VOCABULARY_PATH
from targets.plan import GraphPlan


def command(plan: GraphPlan) -> Command:
    """The frontend's command line."""
    kv = plan.frontend.router_mode == "kv"
    args = flags(
        [
            ("--router-mode", plan.frontend.router_mode),
            ("--kv-cache-block-size", plan.target.serving.kv_block_size if kv else None),
            ("--http-port", HTTP_PORT),
            ("--migration-limit", MIGRATION_LIMIT if plan.version >= FRONTEND_MIGRATES_SINCE else None),
        ]
    )
    return _command(plan, *args, *plan.frontend.extra_args)


def sidecar(plan: GraphPlan) -> Command:
    """Command line of the frontend beside a worker: it goes to the workers that a request's headers name.

    The endpoint picker has chosen them already, so nothing in the user's arguments may choose again.
    """
    args = flags([("--router-mode", "direct"), ("--http-port", HTTP_PORT)])
    return _command(plan, *plan.frontend.extra_args, *args)


def _command(plan: GraphPlan, *args: str) -> Command:
    return Command(
        module="dynamo.frontend",
        args=args,
        env={
            "TIKTOKEN_ENCODINGS_BASE": VOCABULARY_PATH,
            **frontend_environment(plan),
            **plan.frontend.env,
        },
    )
