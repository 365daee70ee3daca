"""`make sbom`: what proctor is made of, as a CycloneDX 1.6 document: locked requirements, and what its pages bring.

    python tools/sbom.py [FILE]       (dist/proctor.cdx.json)

Versions and hashes are those of requirements.txt, licences what the installed packages say of themselves, and the files
of the browser those of each VENDOR.md. The same lock gives the same document, byte for byte.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.txt"
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;]+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
VENDORED = re.compile(r"npm package `([^`]+)`, version ([\d.]+), licence (\S+?)[.,]?(?:\s|$)")
FILE_OF = re.compile(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", re.MULTILINE)
Component = dict[str, Any]
NAMESPACE = uuid.UUID("6f1dbd5a-3c6f-5a75-9d0a-2f0b3a1c7e11")  # of our documents alone
BUILT_WITH = {"hatchling", "editables", "trove-classifiers", "pathspec", "pluggy"}


def document(lock: str, vendored: Mapping[str, str], version: str) -> dict[str, Any]:
    """The document of a lock's text and of the texts of VENDOR.md by folder."""
    components = [*_packages(lock), *_browser(vendored)]
    root = f"proctor@{version}"
    serial = uuid.uuid5(NAMESPACE, json.dumps([root, components], sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "proctor",
                "version": version,
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": components,
        "dependencies": [
            {"ref": root, "dependsOn": sorted(each["bom-ref"] for each in components)},
            *({"ref": each["bom-ref"], "dependsOn": []} for each in components),
        ],
    }


def _packages(lock: str) -> Iterator[Component]:
    """The pinned packages. A pin has a hash for each of its files; the document names all of them."""
    found = list(PINNED.finditer(lock))
    for pin, after in zip(found, [*found[1:], None], strict=True):
        name, version = re.sub(r"[-_.]+", "-", pin[1]).lower(), pin[2]
        hashes = HASH.findall(lock[pin.end() : after.start() if after else len(lock)])
        if not hashes:
            raise SystemExit(f"{LOCK.name}: {name} is pinned without a hash")
        address = f"pkg:pypi/{name}@{version}"
        yield {
            "type": "library",
            "bom-ref": address,
            "name": name,
            "version": version,
            "purl": address,
            "scope": "excluded" if name in BUILT_WITH else "required",
            "hashes": [{"alg": "SHA-256", "content": each} for each in sorted(set(hashes))],
            **_licences(name),
        }


def _licences(name: str) -> dict[str, Any]:
    """What the installed package says; nothing where it is not installed or says nothing."""
    try:
        told: Any = metadata(name)  # a message of email, whose `get` its type leaves out
    except PackageNotFoundError:
        return {}
    if expression := told.get("License-Expression"):
        return {"licenses": [{"expression": expression}]}
    classifiers = told.get_all("Classifier") or ()
    classified = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License ::")]
    plain = (told.get("License") or "").strip()
    names = classified or ([plain] if plain and "\n" not in plain and len(plain) < 80 else [])
    return {"licenses": [{"license": {"name": each}} for each in names]} if names else {}


def _browser(vendored: Mapping[str, str]) -> Iterator[Component]:
    for folder, text in sorted(vendored.items()):
        told = VENDORED.search(text)
        if told is None:
            raise SystemExit(f"{folder}/VENDOR.md names no package, version and licence")
        name, version, licence = told.groups()
        address = f"pkg:npm/{name.replace('@', '%40')}@{version}"
        yield {
            "type": "library",
            "bom-ref": address,
            "name": name,
            "version": version,
            "purl": address,
            "scope": "required",
            "licenses": [{"expression": licence}],
            "components": [
                {
                    "type": "file",
                    "bom-ref": f"{address}#{file}",
                    "name": f"{folder}/{file}",
                    "hashes": [{"alg": "SHA-256", "content": sha256}],
                }
                for file, sha256 in FILE_OF.findall(text)
            ],
        }


def ours() -> dict[str, Any]:
    """The document of this checkout."""
    folders = sorted((ROOT / "src").rglob("VENDOR.md"))
    vendored = {path.parent.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in folders}
    version = VERSION.search((ROOT / "src/proctor/__init__.py").read_text("utf-8"))
    assert version is not None
    return document(LOCK.read_text("utf-8"), vendored, version[1])


def main(words: Sequence[str]) -> int:
    path = Path(words[0]) if words else ROOT / "dist/proctor.cdx.json"
    made = ours()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    unsaid = [each["name"] for each in made["components"] if "licenses" not in each]
    print(f"{path}: {len(made['components'])} components; no licence told: {', '.join(unsaid) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
