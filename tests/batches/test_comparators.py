"""Comparators: when two replies come to the same, what is found in them, and which words name none."""

from __future__ import annotations

import json
import time

import pytest

from proctor.errors import ConfigError
from proctor.grading.comparators.json import keys_of
from proctor.grading.comparators.spans import MOST_PIECES, spans
from proctor.grading.comparators.spec import parse_comparator

ALIKE = [
    ("exact", "a", "a", True),
    ("exact", "a", "a ", False),
    ("normalized", "The **Eiffel Tower**.", "eiffel  tower", True),
    ("normalized", "1,000", "1000.0", True),
    ("normalized", "Paris", "Rome", False),
    ("number", "about 12 apples", "twelve: 12.0", True),
    ("number:rel=0.01", "100", "101", True),
    ("number:rel=0.01", "100", "102", False),
    ("number:abs=2", "100 km", "98 km", True),
    ("number:take=first", "3 of 7", "3 of 9", True),
    ("number", "none", "none at all", False),
    ("label:names=yes|no", "I think no. Yes!", "yes", True),
    ("label:names=yes|no", "yesterday", "yes", False),
    ("label:pattern=class (\\w+)", "class A, then class B", "class b", True),
    ("label:take=first,pattern=class (\\w+)", "class A, then class B", "class b", False),
    ("json", '{"a": 1, "b": [1, 2]}', 'Sure:\n```json\n{"b":[1,2],"a":1.0}\n```', True),
    ("json", '{"a": 1}', '{"a": 1, "b": null}', False),
    ("json:ignore=at|id", '{"a": 1, "at": 5}', '{"a": 1, "id": 6}', True),
    ("json:fields=a", '{"a": 1, "at": 5}', '{"a": 1, "at": 6}', True),
    ("json:near=a~0.1|b.c~+2", '{"a": 100, "b": {"c": 1}}', '{"a": 109, "b": {"c": 3}}', True),
    ("json:near=a~0.1", '{"a": 100, "b": 100}', '{"a": 109, "b": 101}', False),
    ("json:rel=0.05", '{"a": 100, "b": true}', '{"a": 104, "b": 1}', False),
    ("json:texts=normalized", '{"a": "The Sea"}', '{"a": "sea"}', True),
    ("json", "no json", "no JSON", False),
    ("contains", "Paris", "It is Paris, of course.", True),
    ("contains", "Paris", "It is not Paris.", False),
    ("date", "2024-05-03", "It was on 3 May 2024.", True),
    ("grader:exact", "Answer: B", "I reason.\nAnswer: B", True),
]


@pytest.mark.parametrize(("words", "one", "two", "alike"), ALIKE)
def test_two_replies_come_to_the_same_by_the_comparator_that_words_name(
    words: str, one: str, two: str, alike: bool
) -> None:
    compare = parse_comparator(words)
    assert compare(one, two).alike is alike
    assert compare(one, one).alike or "none" in one or "no json" in one or "esterday" in one
    assert parse_comparator(compare.words).words == compare.words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sameness", "no comparator 'sameness'. There are exact, normalized, json, number, label"),
        ("json:mood=x", "json has no setting 'mood'"),
        ("json:near=total~x", "near: .* is no tolerance"),
        ("label", "give either pattern=REGEX or names=A|B"),
        ("label:pattern=(", "is no regular expression"),
        ("label:pattern=(a|aa)+$", "exponential time"),
        ("number:rel=-1", "from 0 up"),
        ("choices", "label:names=A|B|C finds one of a few labels"),
    ],
)
def test_words_that_name_no_comparator_are_refused_with_what_to_write(words: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("|", r"\|")):
        parse_comparator(words)


def test_fields_are_told_by_path_and_those_of_lists_together() -> None:
    found = parse_comparator("json")('{"a": [1, 2], "b": {"c": "x"}}', '{"a": [1, 3], "b": {"c": "x"}}')
    assert dict(found.fields) == {"$.a[]": False, "$.b.c": True}
    assert found.note == "$.a[1] is 2 and 3"
    keys = keys_of('{"a": 1, "b": 2}', '{"a": 1, "c": 3}')
    assert [(key.path, key.one, key.two, key.alike) for key in keys] == [
        ("$.a", "1", "1", True),
        ("$.b", "2", None, False),
        ("$.c", None, "3", False),
    ]
    assert keys_of("plain", "words") == []


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("", ""),
        ("", "new"),
        ("a b c", "a x c"),
        ("the quick brown fox", "the slow brown dog"),
        ("line\nline\n", "line\n\nline"),
        ("é ñ", "e n"),
    ],
)
def test_spans_put_together_are_the_texts_and_what_is_the_same_is_so_in_both(one: str, two: str) -> None:
    first, second = spans(one, two)
    assert ("".join(span.text for span in first), "".join(span.text for span in second)) == (one, two)
    same = ["".join(span.text for span in side if span.kind == "same") for side in (first, second)]
    assert same[0] == same[1]
    assert {span.kind for span in first} <= {"same", "gone"} and {span.kind for span in second} <= {
        "same",
        "new",
    }


def test_very_long_texts_are_compared_in_bounded_time() -> None:
    one = " ".join(f"w{n}" for n in range(20 * MOST_PIECES))
    two = " ".join(f"w{n * 7 % 1000}" for n in range(20 * MOST_PIECES))
    began = time.process_time()
    first, second = spans(f"begin {one} end", f"begin {two} end")
    assert time.process_time() - began < 2
    assert first[0].text.startswith("begin ") and second[-1].text.endswith(" end")
    lists = [json.dumps(list(range(n, n + 5000))) for n in (0, 1)]
    assert len(keys_of(*lists)) == 500
