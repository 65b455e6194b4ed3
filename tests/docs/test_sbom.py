"""The list of what is installed and built."""

import json
from pathlib import Path

import pytest

from docs.generate import sbom
from tests.project import PROJECT

GO_MODULES = [path.parent for path in sorted(PROJECT.glob("embedded/*/go.mod"))]


@pytest.mark.parametrize("folder", GO_MODULES, ids=lambda folder: folder.name)
def test_every_required_go_module_is_a_component_once(folder: Path) -> None:
    sums = (folder / "go.sum").read_text()
    found = sbom.go_components(folder)
    assert len({each["name"] for each in found}) == len(found) > 50
    unknown = [each for each in found if f"{each['name']} {each['version']}" not in sums]
    assert not unknown, "go.sum has whatever is built"


def test_both_files_are_written_beside_the_python_packages(tmp_path: Path) -> None:
    python = tmp_path / "python.cdx.json"
    known = {
        "name": "a",
        "version": "1",
        "licenses": [{"license": {"id": "MIT"}}, {"license": {"name": "Own"}}],
    }
    either = {"name": "b", "version": "2", "licenses": [{"expression": "MIT OR Apache-2.0"}]}
    python.write_text(json.dumps({"bomFormat": "CycloneDX", "components": [known, either]}))
    sbom.main(python, GO_MODULES)
    lines = (tmp_path / "licenses.txt").read_text().splitlines()
    assert lines[:2] == ["a 1: MIT, Own", "b 2: MIT OR Apache-2.0"]
    whole = json.loads((tmp_path / "sbom.cdx.json").read_text())["components"]
    assert len(lines) == len({each.get("bom-ref", each["name"]) for each in whole})
    assert {"k8s.io/kubernetes", "sigs.k8s.io/kwok"} <= {each["name"] for each in whole}
