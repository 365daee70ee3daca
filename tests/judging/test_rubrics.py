"""Rubrics in TOML: what they say, what is wrong with them, and what their hash hangs on."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.errors import ConfigError
from proctor.plan.rubrics import rubric_file, rubric_of, rubric_table, rubric_text, rubric_toml
from proctor.references import Criterion, GradingRubric

EXAMPLE = Path(__file__).parents[2] / "examples" / "rubric.toml"
TOML = b"""
name = "kind"  # of replies
guidance = '''
  You grade a shop.
Be strict.
'''
[[criteria]]
name = "solved"
asks = '''Does it
   solve it?'''
weight = 2
[[criteria]]
name = "tone"
asks = "Is it kind?"
scale = "1-5"
"""
OTHER = b"""
criteria = [
  { asks = "Does it solve it?", weight = 2.0, scale = "pass/fail", name = "solved" },
  { weight = 1, asks = "Is it kind?", scale = "1-5", name = "tone" },
]
guidance = "You grade a shop.\\nBe strict."
name = "kind"
"""
KIND = GradingRubric(
    "kind",
    (Criterion("solved", "Does it solve it?", weight=2.0), Criterion("tone", "Is it kind?", "1-5")),
    "You grade a shop.\nBe strict.",
)


def test_a_rubric_is_what_it_says_and_not_how_its_file_is_laid_out() -> None:
    assert rubric_toml(TOML) == rubric_toml(OTHER) == KIND
    assert rubric_toml(OTHER.replace(b"2.0", b"3")).sha256 != KIND.sha256


def test_a_rubric_is_read_back_from_its_json_and_from_the_toml_that_is_made_of_it() -> None:
    assert rubric_of(rubric_table(KIND)) == rubric_toml(rubric_text(KIND).encode()) == KIND


def test_a_file_without_a_name_has_the_files_and_the_shipped_example_is_one(tmp_path: Path) -> None:
    path = tmp_path / "my rubric.toml"
    path.write_bytes(TOML.replace(b'name = "kind"', b"", 1))
    assert rubric_file(path).name == "my-rubric"
    assert len(rubric_file(EXAMPLE).criteria) > 1


def test_every_fault_is_told_at_once_with_its_key() -> None:
    with pytest.raises(ConfigError) as told:
        rubric_toml(
            b'nam = 1\n[[criteria]]\nname = "a: b"\nscale = "1-6"\nweight = 0\n[[criteria]]\nasks = " "\n',
            "r.toml",
        )
    for part in (
        "r.toml",
        "'a: b'",
        "asks: it is missing",
        "'1-6': there are pass/fail",
        "0 is out of range",
        "[[criteria]] 2: asks: it is empty",
        "did you mean 'name'",
    ):
        assert part in str(told.value)
    with pytest.raises(ConfigError, match="line 2"):
        rubric_toml(b'name = "x"\ncriteria = [\n'.replace(b"criteria = [", b"criteria == []"), "r.toml")
    with pytest.raises(ConfigError, match="two are called 'a'"):
        rubric_of({"name": "x", "criteria": [{"name": "a", "asks": "b"}] * 2})
    with pytest.raises(ConfigError, match="does not exist"):
        rubric_file(Path("/nowhere/rubric.toml"))
