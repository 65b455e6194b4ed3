"""SGLang workers: `python3 -m dynamo.sglang`, per Dynamo release. Pure.

Source: the argument parser of each released `ai-dynamo` package (`dynamo.sglang`) and SGLang's ServerArgs.
"""

from graphs.command import Command, disaggregation_mode, flags, parsers
from graphs.names import MODEL_PATH
from targets.catalogue import MODEL_ID, Role
from targets.plan import GraphPlan, WorkerPlan

_EVENTS_PORT = 5557
_BOOTSTRAP_PORT = 12345
"""Where decode workers ask a prefill worker for its KV cache, as in Dynamo's own manifests; in one pod one each."""


def command(plan: GraphPlan, planned: WorkerPlan) -> Command:
    """The worker's command line."""
    worker = planned.worker
    args = flags(
        [
            ("--model-path", MODEL_PATH),
            ("--served-model-name", MODEL_ID),
            ("--tp", worker.tensor_parallel),
            ("--pp-size", worker.pipeline_parallel),
            ("--max-prefill-tokens", worker.max_num_tokens),
            ("--max-running-requests", worker.max_batch_size),
            ("--context-length", worker.max_seq_len),
            ("--mem-fraction-static", worker.free_gpu_memory_fraction),
            ("--chunked-prefill-size", -1 if worker.chunked_prefill is False else None),
            *_handover(planned),
            *parsers(plan.version),
            # Without it the kv router hears of no cached blocks.
            ("--kv-events-config", _events(planned) if plan.router_mode == "kv" else None),
        ]
    )
    return Command(
        module="dynamo.sglang",
        args=(*args, *worker.arguments, *planned.extra_args),
        env=plan.target.env,
    )


def _events(planned: WorkerPlan) -> str:
    endpoint = f"tcp://*:{_EVENTS_PORT + planned.position}"
    return '{"publisher":"zmq","topic":"kv-events","endpoint":"' + endpoint + '"}'


def _handover(planned: WorkerPlan) -> list[tuple[str, object]]:
    """How KV cache is handed over. Prefill's bootstrap server binds `--host`, 127.0.0.1 where nothing is said, while
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
