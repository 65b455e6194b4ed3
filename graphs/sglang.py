"""SGLang workers: `python3 -m dynamo.sglang`, per Dynamo release. Pure.

Source: the argument parser of each released `ai-dynamo` package (`dynamo.sglang`) and SGLang's ServerArgs.
"""

from graphs.command import Command, disaggregation_mode, flags, parsers
from graphs.names import MODEL_PATH
from targets.catalogue import MODEL_ID, Role
from targets.plan import GraphPlan, WorkerPlan

_EVENTS_PORT = 5557
_BOOTSTRAP_PORT = 8998
"""SGLang's own default; prefill workers of one pod take one each."""


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
            ("--disaggregation-mode", disaggregation_mode(worker.role)),
            ("--disaggregation-transfer-backend", None if worker.role is Role.WORKER else "nixl"),
            *parsers(plan.version),
            # Without it the kv router hears of no cached blocks.
            ("--kv-events-config", _events(planned) if plan.router_mode == "kv" else None),
            ("--disaggregation-bootstrap-port", _bootstrap_port(plan, planned)),
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


def _bootstrap_port(plan: GraphPlan, planned: WorkerPlan) -> int | None:
    return _BOOTSTRAP_PORT + planned.position if plan.in_one_pod and planned.role is Role.PREFILL else None
