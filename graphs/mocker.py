"""Dynamo's mocker: `python3 -m dynamo.mocker`, workers that simulate an engine without GPUs or weights. Pure.

Source: the argument parser of each released `ai-dynamo` package (`dynamo.mocker`). It has no reasoning or tool-call
parsers: answers are random tokens.
"""

from graphs.command import Command, disaggregation_mode, flags
from graphs.names import MODEL_PATH
from targets.catalogue import MODEL_ID
from targets.plan import GraphPlan, WorkerPlan


def command(plan: GraphPlan, planned: WorkerPlan) -> Command:
    """The worker's command line; of the model it reads only configuration and tokenizer."""
    worker = planned.worker
    args = flags(
        [
            ("--model-path", MODEL_PATH),
            ("--model-name", MODEL_ID),
            ("--disaggregation-mode", disaggregation_mode(worker.role)),
            ("--max-num-batched-tokens", worker.max_num_tokens),
            ("--max-num-seqs", worker.max_batch_size),
        ]
    )
    return Command(
        module="dynamo.mocker", args=(*args, *worker.arguments, *planned.extra_args), env=plan.target.env
    )
