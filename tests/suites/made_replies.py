"""Replies made of templates in many styles and languages, each with the answer that a careful reader gives.

The expectations belong to the templates: they were written from what a person reads in them, before
any program read them. Seeded, so that a test sees the same replies every time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

from made_languages import BY_LANGUAGE, LABEL_STYLES, NUMBER_STYLES, SET_STYLES, TEXT_STYLES
from made_templates import BY_STYLE

from proctor.grading.formats import AnswerFormat, Label
from proctor.grading.vocabulary import Vocabulary, vocabulary
from proctor.types import Chat, Item, Message, Reply

OPTION_SETS = (
    ("Vitamin C", "Iron deficiency anaemia", "Hepatitis B", "Hepatitis B and C"),
    ("Metformin", "Insulin glargine", "Aspirin", "Warfarin"),
    ("-1", "1", "-10", "10"),
    ("0.5-1 kg", "1.5-2.5 kg", "5-7 kg", "10-12 kg"),
    ("Vitamin A", "Vitamin B. complex", "Vitamin C, oral", "Vitamin D or E"),
    ("I only", "II only", "I and II", "Neither I nor II"),
    ("Surgery", "Surgery, radiotherapy", "Chemotherapy alone", "Surgery and chemotherapy"),
    (
        "Start empiric ceftriaxone and vancomycin, then obtain a CT scan of the head before lumbar puncture",
        "Obtain a lumbar puncture first, without imaging, and wait for the culture (option A. fails here)",
        "Give dexamethasone, e.g. 10 mg, followed by ceftriaxone, vancomycin and, if older than 50, ampicillin",
        "Reassure the patient and discharge her with follow-up in two weeks, as B. burgdorferi is unlikely",
    ),
    ("Increases", "Decreases", "Does not change", "Cannot be determined"),
    ("Paris", "London", "New York", "York", "Berlin"),
)
KOREAN_SET = ("비타민 C", "철결핍성 빈혈", "B형 간염", "당뇨병")
CHINESE_SET = ("维生素C", "缺铁性贫血", "乙型肝炎", "糖尿病")
JAPANESE_SET = ("ビタミンC", "鉄欠乏性貧血", "B型肝炎", "糖尿病")
RUSSIAN_SET = ("витамин C", "железодефицитная анемия", "гепатит B", "сахарный диабет")
OWN_SETS = {"ko": KOREAN_SET, "zh": CHINESE_SET, "ja": JAPANESE_SET, "ru": RUSSIAN_SET}

REASONING = (
    "The patient is 54 years old and tired. A closer look at the values helps.",
    "Let us go through them. {M}. {U}: this does not fit the findings. {N}. {V}: not supported either.",
    "Option {M} ({U}) is tempting, but it can be ruled out. I would also exclude {V}.",
    "A common mistake is to choose {U}. That is incorrect here, since the onset was sudden.",
    "Step 1: collect the facts.\nStep 2: compare {U} with {V}.\nStep 3: decide.",
    "This is a classic question; vitamin B, factor C and hepatitis E come to mind, but none of it matters.",
)

LABEL_SETS = {
    "yes_no": (Label("yes", ("true",)), Label("no", ("false",))),
    "yes_no_maybe": (Label("yes"), Label("no"), Label("maybe")),
    "nli": (Label("entailment", ("entailed",)), Label("neutral"), Label("contradiction", ("contradicts",))),
    "numbers": (Label("0"), Label("1"), Label("2")),
    "sentiment": (Label("-1"), Label("0"), Label("1")),
}


@dataclass(frozen=True, slots=True)
class Made:
    """One reply: `answer` is what a person reads, None where it states none or several."""

    style: str
    language: str
    kind: AnswerFormat
    text: str
    answer: str | None
    choices: tuple[str, ...] = ()
    labels: str = ""
    finish: str = "stop"

    @property
    def vocabulary(self) -> Vocabulary | None:
        return vocabulary(LABEL_SETS[self.labels]) if self.labels else None

    def item(self) -> Item:
        return Item(
            "t/0",
            "t",
            Chat((Message("user", "Which one fits best? Finish with Answer: <letter>"),)),
            choices=self.choices,
        )

    def reply(self) -> Reply:
        return Reply(self.text, finish=self.finish)


def made(seed: int = 0, each: int = 6) -> Iterator[Made]:
    """Every template of every style, `each` times with other options, letters and reasoning."""
    rng = random.Random(seed)
    for style, templates in BY_STYLE.items():
        for template, stated in templates:
            for _ in range(each):
                yield choice_reply(rng, style, "en", template, stated, rng.choice(OPTION_SETS))
    for language, templates in BY_LANGUAGE.items():
        for template, stated in templates:
            for turn in range(each):
                options = (
                    OWN_SETS[language] if language in OWN_SETS and turn % 2 else rng.choice(OPTION_SETS[:2])
                )
                yield choice_reply(rng, "languages", language, template, stated, options)
    yield from others(each)


def choice_reply(rng, style, language, template, stated, options) -> Made:
    places = rng.sample(range(len(options)), 3)
    one, other, _ = places
    slots = dict(zip("LMN", ("ABCDE"[place] for place in places), strict=True))
    slots |= dict(zip("TUV", (options[place] for place in places), strict=True))
    slots |= {
        "l": slots["L"].lower(),
        "P": str(one + 1),
        "Z": "一二三四五"[one],
        "F": chr(ord(slots["L"]) + 0xFEE0),
    }
    slots |= {
        "J": json.dumps(options[one], ensure_ascii=False)[1:-1],
        "K": json.dumps(options[other], ensure_ascii=False)[1:-1],
    }
    slots["ORD"] = ("first", "second", "third", "fourth", "fifth")[one]
    slots["LIST"] = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCDE", options, strict=False))
    slots["R"] = filled(rng.choice(REASONING), slots)
    slots["RJ"] = json.dumps(slots["R"], ensure_ascii=False)[1:-1]
    text, finish = filled(template, slots), "stop"
    if text.startswith("CUT:"):
        text, finish = text[4:], "length"
    return Made(style, language, "choices", text, slots["L"] if stated else None, options, finish=finish)


def filled(template: str, slots: dict[str, str]) -> str:
    for name, value in slots.items():
        template = template.replace("{" + name + "}", value)
    return template


def others(each: int) -> Iterator[Made]:
    for style, rows in LABEL_STYLES.items():
        for labels, text, answer in rows:
            yield from [Made(style, "en", "labels", text, answer, labels=labels)] * each
    for text, answer in NUMBER_STYLES:
        yield from [Made("numbers", "en", "number", text, answer)] * each
    for text, answer in SET_STYLES:
        yield from [Made("letters", "en", "letters", text, answer, OPTION_SETS[1])] * each
    for text, answer in TEXT_STYLES:
        yield from [Made("free text", "en", "text", text, answer)] * each
