"""How rows are put to the model: in which style and wording, after which worked examples, shuffled or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from proctor.errors import ConfigError
from proctor.manifest import ExamFacts
from proctor.references import ExamRef
from proctor.sources.exams.items import written
from proctor.sources.exams.prompts.form import SHOTS_VERSION, Shot, Writer
from proctor.sources.exams.prompts.styles import OWN, Style, pick, shots_of, style_named, writers_of
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.shots import choose, worked
from proctor.sources.exams.tables.shapes import Task

SEED = 0  # of the order; one for all runs, or two models would not be asked the same items

LETTERED = ("choices", "letters")


@dataclass(frozen=True, slots=True)
class Presentation:
    """How rows are put: who writes each task's prompts (one writer a wording), after which worked examples."""

    style: Style
    writers: Mapping[str, tuple[Writer, ...]]
    shots: Mapping[str, tuple[Shot, ...]]
    shuffle: bool


def asking_of(ref: ExamRef, tasks: Sequence[Task], own: Mapping[str, tuple[Writer, ...]]) -> Presentation:
    """How the reference wants rows to be put. Raises: ConfigError for what the tasks do not have."""
    style = style_named(ref.style)
    if style.name != OWN and ref.wording != 1:
        raise ConfigError(f"Style {style.name} has one wording only: leave out --wording {ref.wording}")
    writers = {}
    for task in tasks:
        if task.key in own and style.name == OWN:
            writers[task.key] = pick(own[task.key], ref.wording, f"{task.key}, with a prompt of its own,")
        else:
            writers[task.key] = writers_of(style, task, ref.wording)
    lettered = [task for task in tasks if task.kind in LETTERED and task.prompt != "verbatim"]
    if ref.shuffle and not lettered:
        raise ConfigError("No task here has lettered choices that could be shuffled: leave out --shuffle")
    return Presentation(style, writers, {}, ref.shuffle)


def worked_examples(
    ref: ExamRef,
    tasks: Sequence[Task],
    ordered: Sequence[Row],
    asking: Presentation,
    teaching: Callable[[str], Sequence[Row]],
) -> dict[str, tuple[Shot, ...]]:
    """The worked examples of each task. Raises: ConfigError, DataError when there are too few dev rows."""
    count = shots_of(asking.style, ref.shots)
    if not count:
        return {}
    if own := [task.key for task in tasks if task.prompt == "verbatim"]:
        raise ConfigError(f"The rows of {own[0]} bring their own messages: leave out --shots")
    found = {}
    for task in tasks:
        writer = asking.writers[task.key][0]

        def shown(row: Row, writer: Writer = writer) -> str:
            return writer.render(row.fields)[0].content

        asked = {shown(row) for row in ordered if row.task == task.key}
        rows = choose(task, teaching(task.key), count, seed=SEED, shown=shown, asked=asked)
        found[task.key] = tuple((row.fields, written(task, row.target or "")) for row in rows)
    return found


def how_asked(facts: ExamFacts, ref: ExamRef, tasks: Sequence[Task], asking: Presentation) -> ExamFacts:
    """The facts with what is about the words that models are shown."""
    prompts = {task.prompt: " + ".join(w.version for w in asking.writers[task.key]) for task in tasks}
    shots = max(map(len, asking.shots.values()), default=0)
    layout = {"shots": SHOTS_VERSION} if shots and asking.style.name == OWN else {}
    return replace(
        facts,
        prompts={**prompts, **layout},
        style=asking.style.name,
        wording=ref.wording,
        shots=shots,
        shuffle=asking.shuffle,
        stop=asking.style.stop,
    )


def in_words(ref: ExamRef, asking: Presentation) -> tuple[str, ...]:
    """How rows are put, where that is not the usual way."""
    said = []
    if asking.style.name != OWN:
        said.append(f"style {asking.style.name}: {asking.style.what}")
    if ref.wording == "all":
        said.append("each item is asked in three wordings; its score is the mean of the three")
    elif ref.wording != 1:
        said.append(f"wording {ref.wording} of 3")
    if asking.shots:
        said.append(f"{worked(max(map(len, asking.shots.values())))} from the dev rows before each item")
    if asking.shuffle:
        said.append("lettered choices stand in a seeded order of their own for each item")
    return tuple(said)
