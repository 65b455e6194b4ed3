"""Dynamo's mocker: `python3 -m dynamo.mocker`, workers that simulate an engine without GPUs or weights. Pure.

Source: the argument parser of each released `ai-dynamo` package (`dynamo.mocker`). It has no reasoning or tool-call
parsers: answers are random tokens.
"""

from facts.engines import Engine
from facts.weights import MODEL_ID
from manifests.command import Command, disaggregation_mode, flags, knob_words
from manifests.names import MODEL_PATH
from targets.engine_knobs import Limits
from targets.parts import WorkerPlan
from targets.plan import GraphPlan


def command(plan: GraphPlan, planned: WorkerPlan) -> Command:
    """The worker's command line; of the model it reads only configuration and tokenizer."""
    worker = planned.worker
    mode = ("--disaggregation-mode", disaggregation_mode(worker.role))
    args = [
        *flags([("--model-path", MODEL_PATH), ("--model-name", MODEL_ID), mode]),
        *knob_words(Engine.MOCKER, worker.knobs, Limits),
    ]
    return Command(
        module="dynamo.mocker", args=(*args, *worker.arguments, *planned.extra_args), env=plan.target.pods.env
    )
