"""Writes `hybrid-retrieval.cdx.json`, the list of what the wheel holds and needs (CycloneDX 1.6): `make sbom`.

The file lies in the repository and is put into the wheel as it is, so that a build needs no tool for it, and building
twice gives the same. `tests/contracts/test_sbom.py` holds that it is up to date.

What ships is read from the folders of models, the versions of packages from `constraints.txt`, their licences and
requirements from the installed packages.
"""

from __future__ import annotations

import hashlib
import json
import sys
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).resolve().parents[2]
FILE = CHECKOUT / "hybrid-retrieval.cdx.json"

_MARKERS = {
    "python_version": "3.13",
    "python_full_version": "3.13.0",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "extra": "",
}
"""The machine that versions are listed for: the list must not depend on the one that writes it."""

_CLASSIFIERS = {
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
}
_NAMES = {"Apache2.0": "Apache-2.0"}
"""What older packages say in the place of an SPDX name."""

_NAMESPACE = uuid.UUID("8f0f6f0e-52cf-4f1c-9d0b-5d3c0a6f2b11")


class MissingPinError(Exception):
    """A package that the wheel needs has no version in `constraints.txt`, or another one is installed."""


def bill_of_materials(checkout: Path = CHECKOUT) -> dict[str, Any]:
    """Return the document, without a time and with an id that follows from its content.

    Raises:
        MissingPinError: A version is not pinned, or not the installed one.
    """
    project = tomli.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = _version(checkout)
    root = f"pkg:pypi/{project['name']}@{version}"
    packages = _packages(project["dependencies"], _pins(checkout))
    shipped = [*_models(checkout), *_data(checkout)]
    extras = _extras(project["optional-dependencies"])
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": project["name"],
                "version": version,
                "description": project["description"],
                "licenses": _licence(project["license"]),
                "purl": root,
            },
            "properties": [
                {
                    "name": "hybrid:versions",
                    "value": "those that the tests run with on Python 3.11 and newer; pyproject.toml has the ranges",
                }
            ],
        },
        "components": [*(_component(each) for each in packages.values()), *shipped, *extras],
        "dependencies": _graph(root, project["dependencies"], packages),
    }
    content = json.dumps(document, sort_keys=True).encode()
    return document | {"serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, hashlib.sha256(content).hexdigest())}"}


def text_of(document: dict[str, Any]) -> str:
    """Return the document as it stands in the file."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


# --- packages ---------------------------------------------------------------------------------------------


def _packages(requirements: list[str], pins: dict[str, str]) -> dict[str, metadata.Distribution]:
    """Return name → installed package of all that is needed, by name, with what those need themselves."""
    found: dict[str, metadata.Distribution] = {}
    waiting = list(requirements)
    while waiting:
        name = _name(waiting.pop())
        if name in found:
            continue
        try:
            found[name] = distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise MissingPinError(f"{name} is not installed: install the versions of constraints.txt") from None
        if pins.get(name) != distribution.version:
            pinned = pins.get(name, "no version")
            raise MissingPinError(f"constraints.txt has {pinned} of {name}, and {distribution.version} is installed")
        waiting += _needed(distribution)
    return dict(sorted(found.items()))


def _needed(distribution: metadata.Distribution) -> list[str]:
    """Return the requirements that hold on the machine that is listed for."""
    needed = [Requirement(text) for text in distribution.requires or ()]
    return [str(each) for each in needed if each.marker is None or each.marker.evaluate(_MARKERS)]


def _component(distribution: metadata.Distribution) -> dict[str, Any]:
    name, version = canonicalize_name(distribution.metadata["Name"]), distribution.version
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "scope": "required",
        "licenses": _licence(_licence_of(distribution)),
        "purl": f"pkg:pypi/{name}@{version}",
    }


def _licence_of(distribution: metadata.Distribution) -> str:
    """Return the licence as SPDX has it: what the package says so, else what its classifiers or an older field say."""
    said = distribution.metadata
    if expression := said["License-Expression"]:
        return expression
    named = [_CLASSIFIERS[each] for each in said.get_all("Classifier") or () if each in _CLASSIFIERS]
    if named:
        return " AND ".join(sorted(named))
    text = said["License"] or ""
    if text in _NAMES:
        return _NAMES[text]
    raise MissingPinError(f"the licence of {said['Name']} is {text!r}: give it an SPDX name in {Path(__file__).name}")


def _licence(expression: str) -> list[dict[str, Any]]:
    return [{"expression": expression} if " " in expression else {"license": {"id": expression}}]


def _extras(extras: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Return what the extras of users ask for, without versions: nothing of it comes unasked."""
    wanted: dict[str, list[str]] = {}
    for extra, requirements in extras.items():
        for text in requirements if extra not in ("dev", "docs") else ():
            wanted.setdefault(str(Requirement(text)), []).append(extra)
    return [
        {
            "type": "library",
            "bom-ref": f"extra:{text}",
            "name": _name(text),
            "scope": "optional",
            "purl": f"pkg:pypi/{_name(text)}",
            "properties": [
                {"name": "hybrid:extra", "value": ", ".join(names)},
                {"name": "hybrid:range", "value": text},
            ],
        }
        for text, names in sorted(wanted.items())
    ]


def _graph(root: str, requirements: list[str], packages: dict[str, metadata.Distribution]) -> list[dict[str, Any]]:
    def ref(text: str) -> str:
        return f"pkg:pypi/{_name(text)}@{packages[_name(text)].version}"

    def entry(of: str, needed: list[str]) -> dict[str, Any]:
        return {"ref": of, "dependsOn": sorted({ref(text) for text in needed})}

    return [entry(root, requirements), *(entry(ref(name), _needed(each)) for name, each in packages.items())]


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _pins(checkout: Path) -> dict[str, str]:
    """Return name → version of constraints.txt, on the machine that is listed for."""
    lines = (checkout / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    held = (each for each in pins if each.marker is None or each.marker.evaluate(_MARKERS))
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in held}


def _version(checkout: Path) -> str:
    text = (checkout / "hybrid" / "__init__.py").read_text(encoding="utf-8")
    return next(line.split('"')[1] for line in text.splitlines() if line.startswith("__version__"))


# --- what ships -------------------------------------------------------------------------------------------


def _models(checkout: Path) -> list[dict[str, Any]]:
    """Return the models whose weights ship, with the digest of each file."""
    found: list[dict[str, Any]] = []
    for path in sorted((checkout / "models").glob("*/manifest.toml")):
        manifest = tomli.loads(path.read_text(encoding="utf-8"))
        if not (path.parent / "model.safetensors").exists():
            continue
        found.append(
            {
                "type": "machine-learning-model",
                "bom-ref": f"model:{manifest['name']}",
                "name": manifest["name"],
                "version": str(manifest["version"]),
                "description": manifest["provenance"],
                "scope": "required",
                "hashes": _hashes(path.parent / "model.safetensors"),
                "licenses": _licence(manifest["licence"]),
                "components": _files(path.parent, checkout),
            }
        )
    return found


def _data(checkout: Path) -> list[dict[str, Any]]:
    """Return the folders of data that the gate and the lexicon read."""
    about = {
        "background": "Texts and terms that the gate compares prompts with, and their vectors.",
        "lexicon": "Words of other languages with their English ones.",
    }
    return [
        {
            "type": "data",
            "bom-ref": f"data:{name}",
            "name": name,
            "description": text,
            "scope": "required",
            "licenses": _licence("MIT"),
            "components": _files(checkout / "models" / name, checkout),
        }
        for name, text in about.items()
    ]


def _files(folder: Path, checkout: Path) -> list[dict[str, Any]]:
    paths = (path for path in sorted(folder.iterdir()) if path.suffix != ".md" and path.name != "LICENSE")
    return [
        {
            "type": "file",
            "bom-ref": f"file:{path.relative_to(checkout).as_posix()}",
            "name": f"hybrid/shipped/{path.relative_to(checkout).as_posix()}",
            "hashes": _hashes(path),
        }
        for path in paths
    ]


def _hashes(path: Path) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]


def main() -> int:
    """Write the file, or with `--check` say whether it is up to date."""
    text = text_of(bill_of_materials())
    if "--check" in sys.argv[1:]:
        is_current = FILE.read_text(encoding="utf-8") == text
        sys.stdout.write(f"{FILE.name} is {'up to date' if is_current else 'not up to date: make sbom'}\n")
        return 0 if is_current else 1
    FILE.write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(f"wrote {FILE.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
