"""`make sbom`: every locked package and every file of the browser, with version, licence and hash."""

from __future__ import annotations

import re

import sbom

MADE = sbom.ours()


def test_every_pin_of_the_lock_is_a_component_with_all_of_its_hashes():
    lock = sbom.LOCK.read_text("utf-8")
    pins = {
        re.sub(r"[-_.]+", "-", name).lower(): version
        for name, version in re.findall(r"(?m)^([\w.-]+)==(\S+)", lock)
    }
    packages = [each for each in MADE["components"] if each["purl"].startswith("pkg:pypi/")]
    assert {each["name"]: each["version"] for each in packages} == pins and len(pins) > 40
    assert sum(len(each["hashes"]) for each in packages) == len(set(re.findall(r"sha256:[0-9a-f]{64}", lock)))
    assert not [each["name"] for each in packages if "licenses" not in each]


def test_every_file_that_pages_bring_is_named_with_its_hash():
    browser = [each for each in MADE["components"] if each["purl"].startswith("pkg:npm/")]
    files = {file["name"]: file["hashes"][0]["content"] for each in browser for file in each["components"]}
    there = {
        path.relative_to(sbom.ROOT).as_posix()
        for folder in (sbom.ROOT / "src").rglob("VENDOR.md")
        for path in folder.parent.iterdir()
        if path.name != "VENDOR.md"
    }
    assert files.keys() == there and len(browser) >= 5


def test_the_same_lock_gives_the_same_document_and_another_another():
    assert sbom.ours() == MADE
    other = sbom.document("a==1 \\\n    --hash=sha256:" + "0" * 64, {}, "1")
    assert [each["purl"] for each in other["components"]] == ["pkg:pypi/a@1"]
    assert other["serialNumber"] != MADE["serialNumber"] and MADE["bomFormat"] == "CycloneDX"
    references = [each["bom-ref"] for each in MADE["components"]]
    assert len(set(references)) == len(references) and MADE["dependencies"][0]["dependsOn"] == sorted(
        references
    )
