"""Which folder may import what: data flows downwards, and nobody loads what the stack does not use."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.golden_files import compare_block
from tests.project import PROGRAM, PROJECT, SOURCE

CLOUD = {"pulumi", "pulumi_kubernetes", "pulumi_aws"}
OURS = {*SOURCE, "tests"}
FORBIDDEN = {
    "facts": CLOUD | OURS - {"facts"},
    "targets": CLOUD | OURS - {"facts", "targets"},
    "pods": CLOUD | OURS - {"pods"},
    "manifests": CLOUD | OURS - {"facts", "targets", "pods", "manifests"},
    "components": OURS - {"facts", "targets", "pods", "manifests", "components"},
    "stacks": OURS - {*PROGRAM},
    "package": OURS - {*PROGRAM, "package"},
    "docs": CLOUD | OURS - {"facts", "targets", "stacks", "docs"},
    "policy": CLOUD | OURS - {"facts", "targets", "stacks", "policy"},
    "pages": CLOUD | OURS - {"pages"},
    "ops": {"tests"},
    "measure": {"tests", "components", "ops"},
    "embedded": {"tests", "components", "measure", "ops", "stacks"},
}
"""By folder: the top-level packages that no module of it may import."""


def modules(folder: str) -> Iterator[Path]:
    yield from sorted((PROJECT / folder).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Top-level packages that the module names in an import, wherever in the module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.partition(".")[0] for name in found}


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports_point_downwards(folder: str) -> None:
    assert list(modules(folder)), "the folder is gone"
    wrong = {
        str(path.relative_to(PROJECT)): sorted(imported(path) & FORBIDDEN[folder])
        for path in modules(folder)
        if imported(path) & FORBIDDEN[folder]
    }
    assert wrong == {}


def test_the_drawing_is_current_and_no_arrow_points_up() -> None:
    """`REGENERATE=1` draws it anew."""
    imports = {
        folder: sorted(set[str]().union(*map(imported, modules(folder))) & OURS - {folder})
        for folder in sorted(FORBIDDEN)
    }
    imports["__main__"] = sorted(imported(PROJECT / "__main__.py") & OURS)
    order = [*TopologicalSorter(imports).static_order()][::-1]  # CycleError where an arrow points up
    lines = (
        f"{folder:<10} ─► {', '.join(sorted(imports[folder], key=order.index))}"
        if imports[folder]
        else folder
        for folder in order
    )
    drawing = "\n".join(["```", *lines, "```", ""])
    page = PROJECT / "docs" / "architecture.md"
    begin = "<!-- what imports what: tests/test_architecture.py draws this -->\n"
    compare_block(page, begin, "<!-- end of the drawing -->", drawing)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not even for types alone: two modules that know each other are one."""
    names = {".".join(path.relative_to(PROJECT).with_suffix("").parts): path for path in OWN}
    imports = {
        name: {
            module
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and node.module
            for module in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
            if module in names and module != name
        }
        for name, path in names.items()
    }
    TopologicalSorter(imports).prepare()  # CycleError names the circle


def loaded(stack: str) -> set[str]:
    """Top-level packages that evaluating the stack loads, in a process of its own."""
    script = (
        "import sys; from pathlib import Path; from ops.evaluate import evaluate; "
        "from ops.pulumi.stack_file import StackFile; project = Path.cwd(); "
        f"evaluate(project, StackFile.load(project, {stack!r})); "
        "print('\\n'.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_a_stack_on_a_cluster_that_is_there_loads_nothing_of_aws() -> None:
    packages = loaded("dev")
    assert "pulumi_kubernetes" in packages
    assert not {"pulumi_aws", "boto3", "botocore"} & packages


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_the_program_loads_no_simulation(stack: str) -> None:
    assert not {"embedded", "kopf", "tests"} & loaded(stack)


def test_config_is_read_in_one_place() -> None:
    readers = [
        str(path.relative_to(PROJECT))
        for folder in PROGRAM
        for path in modules(folder)
        if "pulumi.Config(" in path.read_text()
    ]
    assert readers == ["stacks/load.py"]


def test_settings_end_where_they_are_resolved() -> None:
    """Whoever takes settings would have to resolve them anew."""
    takers = [
        str(path.relative_to(PROJECT))
        for folder in ("manifests", "components", "stacks", "ops")
        for path in modules(folder)
        if re.search(r"\bSettings\b", path.read_text())
    ]
    assert takers == [f"stacks/{name}.py" for name in ("load", "plan", "schema", "settings")]


OWN = sorted(path for folder in FORBIDDEN for path in modules(folder))


def test_files_stay_readable_in_one_sitting() -> None:
    lengths = {str(path.relative_to(PROJECT)): len(path.read_text().splitlines()) for path in OWN}
    assert {name: lines for name, lines in lengths.items() if lines > 300} == {}


def test_functions_stay_readable_at_one_look() -> None:
    lengths = {
        f"{path.relative_to(PROJECT)}: {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in OWN
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lengths.items() if lines > 60} == {}


def test_records_stay_readable_at_one_look() -> None:
    """Fields of its own: what a settings model inherits is a record with a subject of its own."""
    fields = {
        f"{path.relative_to(PROJECT)}: {node.name}": sum(
            isinstance(each, ast.AnnAssign) for each in node.body
        )
        for path in OWN
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }
    assert {name: count for name, count in fields.items() if count > 12} == {}


def test_every_service_of_aws_that_we_use_is_type_checked() -> None:
    """mypy skips the services that pyproject.toml does not name, and takes whatever comes from them as right."""
    overrides = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    [checked] = [entry["module"] for entry in overrides if entry.get("follow_imports") == "normal"]
    services = {name.split(".")[1] for name in checked if name.endswith(".*")}
    used = {
        node.attr
        for folder in ("components", "stacks")
        for path in modules(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "aws"
    }
    assert {name for name in used if name.islower() and not name.startswith("get_")} == services


def test_modules_have_a_test_file_of_their_name_where_one_looks() -> None:
    """`tests/manifests/graph/test_rolling.py` for `manifests/graph/rolling.py`."""
    programs = [path for folder in SOURCE for path in modules(folder) if path.name != "__init__.py"]
    mirrored = [
        path
        for path in programs
        if (PROJECT / "tests" / path.relative_to(PROJECT).parent / f"test_{path.name}").is_file()
    ]
    assert len(mirrored) >= 140


def test_the_plans_of_tests_are_made_in_one_place() -> None:
    makers = [
        str(path.relative_to(PROJECT))
        for path in modules("tests")
        if re.search(r"^from targets\.resolve import .*\bresolve\b", path.read_text(), re.MULTILINE)
    ]
    assert makers == ["tests/plans.py"]
