"""One row's fields for each prompt, invented, for tests that look at what models are shown."""

from __future__ import annotations

PAIR = {"sentence1": "The dog that barked slept.", "sentence2": "A dog was asleep."}
NLI = {"premise": "All the shops were shut.", "hypothesis": "The bakery sold bread that day."}

EXAMPLES = {
    "cola": {"sentence": "The boat sailed quickly."},
    "sst2": {"sentence": "a dull and endless film"},
    "mrpc": PAIR,
    "qqp": {"question1": "How do I boil an egg?", "question2": "How long does an egg need?"},
    "stsb": PAIR,
    "mnli": {**NLI, "half": "m"},
    "qnli": {"question": "Who built the bridge?", "sentence": "Telford built the bridge."},
    "rte": PAIR,
    "wnli": PAIR,
    "axg": NLI,
    "boolq": {"question": "is it so?", "passage": "It is so {here}."},
    "cb": NLI,
    "copa": {"premise": "The lamp went out.", "question": "cause", "choices": ["It fell.", "It rained."]},
    "multirc": {"paragraph": "Ann met Bo.", "question": "Who met?", "choices": ["Ann", "Bo", "Cy"]},
    "record": {
        "passage": "Rain fell on Oslo.\n@highlight\n\nOslo floods",
        "query": "The rain in @placeholder",
        "entities": ["Oslo", "Bergen"],
    },
    "wic": {"word": "bank", "sentence1": "The bank lends.", "sentence2": "We sat on the bank."},
    "wsc": {
        "text": "Anna , who sang , thanked Maria because she had listened.",
        "span1_text": "Maria",
        "span1_index": 6,
        "span2_text": "she",
        "span2_index": 8,
    },
    "mmlu": {"subject": "high_school_physics", "question": "Which?", "choices": ["w", "x", "y", "z"]},
    "medqa": {"question": "A man coughs. Cause?", "choices": ["a cold", "a crow", "dust", "fear"]},
    "medmcqa": {"question": "Longest bone?", "choices": ["femur", "tibia", "rib", "ulna"]},
    "pubmedqa": {"question": "Does it help?", "contexts": ["We tried.", "It helped."]},
    "choices": {"question": "Which?", "choices": ["w", "x", "y"]},
    "labels": {"question": "How is it?", "labels": ["good", "bad"]},
    "text": {"question": "Who?"},
    "verbatim": {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]},
}

# What the first wordings said when their versions were given: other words need another version.
FIRST_WORDS = {
    "boolq": (
        "Read the passage, then answer the question with yes or no.\n\nPassage: It is so {here}.\n\n"
        "Question: is it so?\n\n"
    ),
    "mmlu": (
        "This is a multiple-choice question about high school physics. One option is correct.\n\nWhich?\n\n"
        "A. w\nB. x\nC. y\nD. z\n\n"
    ),
    "pubmedqa": (
        "This is the abstract of a medical study, without its conclusion.\n\nWe tried.\n\nIt helped.\n\n"
        "Question: Does it help?\n\n"
        "Judging by this study alone, answer yes, no, or maybe (the findings do not settle it).\n\n"
    ),
    "choices": "Which?\n\nA. w\nB. x\nC. y\n\nChoose the one option that answers best. ",
    "labels": "How is it?\n\nThe answer is one of: good, bad.\n\n",
    "text": "Who?\n\nGive the answer itself in as few words as it needs. ",
}
