"""SGLang workers: `python3 -m dynamo.sglang`, per Dynamo release. Pure.

Source: the argument parser of each released `ai-dynamo` package (`dynamo.sglang`) and SGLang's ServerArgs.
"""

from facts.engines import Engine, Role
from facts.weights import MODEL_ID
from manifests.command import Command, disaggregation_mode, flags, knob_words, parsers
from manifests.names import MODEL_PATH
from targets.engine_knobs import Limits, Loading, Parallelism
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

_EVENTS_PORT = 5557
_BOOTSTRAP_PORT = 12345
"""Where decode workers ask a prefill worker for its KV cache, as in Dynamo's own manifests; in one pod one each."""


def command(plan: GraphPlan, planned: WorkerPlan) -> Command:
    """The worker's command line."""
    worker = planned.worker
    # Without it the kv router hears of no cached blocks.
    events = ("--kv-events-config", _events(planned) if plan.frontend.router_mode == "kv" else None)
    args = [
        *flags([("--model-path", MODEL_PATH), ("--served-model-name", MODEL_ID)]),
        *knob_words(Engine.SGLANG, worker.knobs, Parallelism),
        *knob_words(Engine.SGLANG, worker.knobs, Limits),
        *knob_words(Engine.SGLANG, worker.knobs, Loading),
        *flags([*_handover(planned), *parsers(plan.version), events]),
    ]
    return Command(
        module="dynamo.sglang",
        args=(*args, *worker.arguments, *planned.extra_args),
        env=plan.target.pods.env,
    )


def _events(planned: WorkerPlan) -> str:
    endpoint = f"tcp://*:{_EVENTS_PORT + planned.position}"
    return '{"publisher":"zmq","topic":"kv-events","endpoint":"' + endpoint + '"}'


def _handover(planned: WorkerPlan) -> list[tuple[str, object]]:
    """How KV cache is handed over. Prefill's bootstrap server binds `--host`, by default 127.0.0.1, while
    Dynamo tells decode workers the pod's address: they must say every address, or no request is ever answered.
    """
    if planned.role is Role.WORKER:
        return []
    return [
        ("--disaggregation-mode", disaggregation_mode(planned.role)),
        ("--disaggregation-transfer-backend", "nixl"),
        ("--disaggregation-bootstrap-port", _BOOTSTRAP_PORT + planned.position),
        ("--host", "0.0.0.0"),
    ]
