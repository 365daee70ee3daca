"""Downloading the rows of tasks from the hub into HOME/hub, at a commit that is kept from then on.

Nothing is downloaded twice: rows that are here stay, and their commit is asked for again where another
split or task of the same data set is missing.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import DataError, DataMissing
from proctor.settings import Settings
from proctor.sources.exams.hub.client import Hub, Pause, Progress, open_hub
from proctor.sources.exams.hub.tables import hub_rows, read_records
from proctor.sources.exams.official.medical import by_truth, json_object
from proctor.sources.exams.rows.normal_form import Row, read_manifest, read_rows, rows_path, write_rows
from proctor.sources.exams.tables.shapes import HubSet, Task
from proctor.sources.exams.tables.tasks import SUITES

MAIN = "main"
PUBMEDQA_IDS = "pubmedqa/pubmedqa/master/data/test_ground_truth.json"
OFFICIAL_IDS = "medical/pubmedqa"  # the form whose one split holds both of ours
CURE = (
    "Import the official files with `proctor data import PATH`, set HTTPS_PROXY if this machine needs a "
    "proxy, or HF_ENDPOINT to a mirror"
)


@dataclass(frozen=True, slots=True)
class Want:
    """One task and split that is to be downloaded."""

    task: str
    split: str
    theirs: str  # the hub's splits joined by "+", or a file's name
    hub: HubSet


def ensure(
    tasks: Sequence[Task],
    home: Path,
    settings: Settings,
    *,
    on_progress: Progress | None = None,
    splits: Sequence[str] = ("eval",),
    pause: Pause = asyncio.sleep,
) -> None:
    """Download what is missing of the tasks' splits. A task that the hub does not have is passed over.

    `on_progress` is told the bytes done and the bytes of all files begun so far. Runs an event loop of
    its own. Raises: DataError that begins "Failed to load GLUE dataset: " with the suite's name.
    """
    if wants := missing(tasks, splits, home):
        try:
            asyncio.run(fetch_all(wants, home, settings, on_progress, pause))
        except DataError as error:
            cure = f"{CURE}{_imported(tasks, home)}."
            raise DataMissing(f"Failed to load {suite_name(tasks)} dataset: {error}. {cure}") from None


def _imported(tasks: Sequence[Task], home: Path) -> str:
    """What a run could ask without the hub, for who has imported some tasks and asks for all."""
    here = [task.key for task in tasks if rows_path(home, task.key, "eval").is_file()]
    if not here:
        return ""
    named = ", ".join(here[:9]) + (f" and {len(here) - 9} more" if len(here) > 9 else "")
    return f". Imported are {len(here)} of {len(tasks)} tasks ({named}): a run of these alone needs no hub"


def missing(tasks: Sequence[Task], splits: Sequence[str], home: Path) -> list[Want]:
    return [
        Want(task.key, split, task.hub.splits[split], task.hub)
        for task in tasks
        for split in splits
        if task.hub is not None
        and split in task.hub.splits
        and not rows_path(home, task.key, split, "hub").is_file()
    ]


def suite_name(tasks: Sequence[Task]) -> str:
    """The suite as users know it: the one that all the tasks belong to."""
    keys = {task.key for task in tasks}
    names = [key for key, suite in SUITES.items() if keys <= {task.key for task in suite.tasks}]
    return names[0].upper() if names else ", ".join(sorted(keys)).upper()


async def fetch_all(
    wants: Sequence[Want], home: Path, settings: Settings, tell: Progress | None, pause: Pause
) -> None:
    """Everything that is wanted; what came before a failure stays. Raises: DataError."""
    datasets: dict[str, list[Want]] = defaultdict(list)
    for want in wants:
        datasets[want.hub.dataset].append(want)
    async with open_hub(settings.hf_endpoint, settings.hf_token, tell, pause) as hub:
        for dataset, its in datasets.items():
            commit, files = await settled(hub, dataset, its, home)
            jobs = [fetch_one(hub, want, commit, files, home, settings) for want in its]
            done = await asyncio.gather(*jobs, return_exceptions=True)
            if failed := next((each for each in done if each is not None), None):
                raise failed


async def settled(hub: Hub, dataset: str, wants: Sequence[Want], home: Path) -> tuple[str, list[str]]:
    """The commit to take a data set at, and its files: the pinned one, the one here, or today's.

    Raises: DataError when the hub no longer has the commit that is asked for.
    """
    asked = wants[0].hub.revision or recorded(dataset, home)
    commit, files = await hub.listing(dataset, asked or MAIN)
    if asked is not None and commit != asked:
        raise DataError(f"{dataset}: the hub answers with commit {commit[:12]}, not {asked[:12]}")
    return commit, files


def recorded(dataset: str, home: Path) -> str | None:
    """The commit of rows of this data set that are here already."""
    for path in sorted((home / "hub").glob("*/*.manifest.json")):
        manifest = read_manifest(home, path.parent.name, path.name.partition(".")[0], "hub")
        if manifest is not None and manifest.source[:1] == (f"hub:{dataset}",):
            return manifest.revision
    return None


async def fetch_one(
    hub: Hub, want: Want, commit: str, files: Sequence[str], home: Path, settings: Settings
) -> None:
    """Fetch the files of one task and split and store their rows. Raises: DataError."""
    rows: list[Row] = []
    source = [f"hub:{want.hub.dataset}"]
    for theirs in want.theirs.split("+"):
        names = files_of(theirs, want.hub, files)
        bodies = await asyncio.gather(*[hub.file(want.hub.dataset, commit, name) for name in names])
        records = [
            each for name, body in zip(names, bodies, strict=True) for each in read_records(body, name)
        ]
        rows += hub_rows(want.task, want.hub.form, theirs, records)
        source += names
    if want.hub.form == OFFICIAL_IDS:
        truth, origin = await official_ids(hub, home, settings)
        test, rest = by_truth(rows, truth, source[-1], origin)
        rows = list(test if want.split == "eval" else rest)
        source.append(origin)
    if not rows:
        raise DataError(f"{want.hub.dataset}: no rows in {', '.join(source[1:])}")
    write_rows(home, want.task, want.split, rows, source=source, revision=commit, now=time.time())


def files_of(theirs: str, hub: HubSet, files: Sequence[str]) -> list[str]:
    """The files of one of the hub's splits, in order. Raises: DataError when one of them is not there."""
    if theirs.endswith((".json", ".jsonl")):
        if found := [name for name in files if name == theirs or name.endswith(f"/{theirs}")]:
            return found[:1]
        raise DataError(f"{hub.dataset}: no file {theirs}")
    pattern = re.compile(rf"{re.escape(hub.config)}/{re.escape(theirs)}-(\d{{5}})-of-(\d{{5}})\.parquet")
    parts = {int(match[1]): match for name in files if (match := pattern.fullmatch(name))}
    if not parts:
        raise DataError(f"{hub.dataset}: no Parquet files of {hub.config}/{theirs}")
    count = int(next(iter(parts.values()))[2])
    if sorted(parts) != list(range(count)):
        raise DataError(
            f"{hub.dataset}: {len(parts)} of the {count} files of {hub.config}/{theirs} are there"
        )
    return [parts[number][0] for number in range(count)]


async def official_ids(hub: Hub, home: Path, settings: Settings) -> tuple[Mapping[str, str], str]:
    """PubMedQA's official test articles with their answers, and where they come from: an import, else GitHub.

    Raises: DataError.
    """
    if rows_path(home, "pubmedqa", "eval").is_file():
        imported = read_rows("pubmedqa", "imported", home).rows
        return {row.id.partition("/")[2]: str(row.target) for row in imported}, "imported test ids"
    url = f"{settings.github_raw_url}/{PUBMEDQA_IDS}"
    answer = await hub.fetch(url)
    return json_object(url, answer.body), url
