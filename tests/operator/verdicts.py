"""What operators answer to graphs that break a rule or do not, as data/verdicts.yaml keeps it.

A verdict is "admitted", or what is wrong: the fields with the API server's word for it, as in
`spec.components[2].replicas: Invalid value`.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from embedded.cluster import ClusterError
from tests.embedded.example_graphs import Graph, changed
from tests.operator.mutations import Mutation
from tests.operator.running import Operator

ADMITTED = "admitted"
FILE = Path(__file__).parent / "data" / "verdicts.yaml"
_WORDS = (
    "Required value|Forbidden|Invalid value|Unsupported value|Too many|Too long|Duplicate value|Not found"
)
_FIELD = re.compile(rf"([A-Za-z][\w.\[\]/~-]*): (?:{_WORDS})")
_TYPED = re.compile(r"typed patch object \(.*?\): (\.spec\S*): (\w+ \w+)")
"""What server-side apply says of an object that does not fit the schema: the field, and how it goes on."""


def read() -> dict[str, dict[str, str]]:
    """By mutation, by release line: the verdict."""
    found: dict[str, dict[str, str]] = yaml.safe_load(FILE.read_text()) if FILE.exists() else {}
    return found


def write(line: str, verdicts: dict[str, str]) -> None:
    """Keeps a release's verdicts beside those of other releases; of mutations that are asked for no longer, nothing."""
    before = read()
    content = {name: before.get(name, {}) | {line: verdict} for name, verdict in verdicts.items()}
    FILE.write_text(yaml.safe_dump(content, width=118, sort_keys=True))


def ask(operator: Operator, namespace: str, mutations: Iterable[Mutation]) -> Iterator[tuple[str, str]]:
    """The verdict on each mutation, by server-side dry run; what is updated is stored first, and goes at the end."""
    stored: dict[str, str] = {}
    for mutation in mutations:
        graph = changed(mutation.graph, "metadata/namespace", namespace)
        if mutation.old is not None:
            key = repr(mutation.old)
            if key not in stored:
                stored[key] = f"stored-{len(stored)}"
                old = changed(mutation.old, "metadata/namespace", namespace)
                operator.apply([changed(old, "metadata/name", stored[key])])
            graph = changed(graph, "metadata/name", stored[key])
        yield mutation.name, _verdict(operator, graph)


def _verdict(operator: Operator, graph: Graph) -> str:
    try:
        operator.apply([graph], "--dry-run=server", "--force-conflicts", "--validate=false")
    except ClusterError as error:
        return _reason(str(error))
    return ADMITTED


def _reason(words: str) -> str:
    found = [f"{match[1]}: {match[0].rpartition(': ')[2]}" for match in _FIELD.finditer(words)]
    if match := _TYPED.search(words):
        found.append(f"{match[1]}: {match[2]}")
    if not found:
        return words.rpartition("denied the request: ")[2][:100]
    return "; ".join(dict.fromkeys(one for one in found if not one.startswith("nil")))
