"""What engines call the knobs of a role, as a table of docs/targets.md. table: writes one of a head and rows."""

from collections.abc import Callable, Iterable

from facts.engines import Engine
from targets.engine_knobs import KNOBS, Choice, EngineKnobs, Knob

Table = Callable[[tuple[str, ...], Iterable[Iterable[object]]], str]


def flags(table: Table) -> str:
    """What each engine calls each knob; empty where it has no such setting."""

    def called(knob: Knob, engine: Engine) -> str:
        argument = knob.argument(engine)
        if isinstance(argument, Choice):
            return "; ".join(f"{value}: `{' '.join(words)}`" for value, words in argument.said)
        names = [] if argument is None else [f"`{argument.spellings[0]}`"]
        if engine is Engine.TRTLLM and knob.engine_file:
            names.append(f"file `{knob.engine_file}`")
        return ", ".join(names)

    return table(
        ("key", *Engine),
        (
            (f"`<role>.{EngineKnobs.model_fields[name].alias}`", *(called(knob, engine) for engine in Engine))
            for name, knob in KNOBS.items()
        ),
    )
