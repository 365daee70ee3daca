"""What Inspect's scorers gave: one number for each scorer, or for each entry of a scorer that gives several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.interop.logs import array, digest, mapping, number, text

GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
NO_ANSWER = "N"
MEANS = ("accuracy", "mean")  # metrics that are the mean of the samples' numbers


@dataclass(frozen=True, slots=True)
class Scorer:
    """A scorer, or one entry of one that gives several numbers by name."""

    name: str
    entry: str | None = None

    @property
    def title(self) -> str:
        return self.name if self.entry is None else f"{self.name}/{self.entry}"

    def value(self, sample: Mapping[str, Any]) -> object:
        value = score_of(sample, self.name).get("value")
        return value if self.entry is None else mapping(value).get(self.entry)

    def grade(self, sample: Mapping[str, Any]) -> float | None:
        """The number that Inspect takes the value for; None for what is none."""
        value = self.value(sample)
        if not isinstance(value, str):
            return number(value)
        known = GRADES.get(value, GRADES.get(value.lower()) if len(value) > 1 else None)
        return _number_in(value) if known is None else known


def score_of(sample: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    # The oldest logs have one score, without a name.
    return mapping(
        mapping(sample.get("scores")).get(name) or (sample.get("score") if name == "score" else None)
    )


def scorers(header: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> list[Scorer]:
    """Those that gave a number to any sample, in the order of the log's results."""
    told = [text(score.get("scorer") or score.get("name")) for score in results(header)]
    given = [name for sample in samples for name in _names(sample)]
    found = [each for name in dict.fromkeys((*told, *given)) for each in _entries(name, samples)]
    return [each for each in found if any(each.grade(sample) is not None for sample in samples)]


def _names(sample: Mapping[str, Any]) -> list[str]:
    return list(mapping(sample.get("scores"))) or (["score"] if sample.get("score") else [])


def _entries(name: str, samples: Sequence[Mapping[str, Any]]) -> list[Scorer]:
    values = [score_of(sample, name).get("value") for sample in samples]
    entries = dict.fromkeys(entry for value in values for entry in mapping(value))
    return [Scorer(name, entry) for entry in entries] or [Scorer(name)]


def results(header: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The log's own figures: one entry a scorer, with its metrics."""
    return [mapping(score) for score in array(mapping(header.get("results")).get("scores"))]


def theirs(header: Mapping[str, Any], scorer: Scorer) -> float | None:
    """The log's mean of a scorer's numbers; None where it has none, or took something else of the epochs."""
    for score in results(header):
        names = (score.get("scorer") or score.get("name"), score.get("name"))
        if names != (scorer.name, scorer.entry or scorer.name) or score.get("reducer") not in (None, "mean"):
            continue
        for key, metric in mapping(score.get("metrics")).items():
            if key.rpartition("/")[2] in MEANS:
                return number(mapping(metric).get("value"))
    return None


def code(header: Mapping[str, Any]) -> str:
    """A code for how the scorers were set: the model that grades, its template, and the like."""
    of = mapping(header.get("eval"))
    options = [[score.get("scorer"), score.get("params")] for score in results(header) if score.get("params")]
    return digest(text(options), text(of.get("model_roles") or None))[:12]


def cluster_field(header: Mapping[str, Any]) -> str | None:
    """The metadata by which the log's own standard error takes samples together."""
    for metric in _metrics(header):
        options = metric.get("params") or metric.get("options")
        if isinstance(field := mapping(options).get("cluster"), str):
            return field
    return None


def _metrics(header: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for score in results(header):
        yield from map(mapping, mapping(score.get("metrics")).values())


def _number_in(value: str) -> float | None:
    try:
        return number(float(value))
    except ValueError:
        return None
