"""Parts of a run that were asked apart, each in a home of its own, become one run that equals the one asked whole."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opened import bundle, opened, resume, start
from proctor.errors import ConfigError, Conflict, DataError, NotFound
from proctor.plan import Wanted
from proctor.references import BatchRef
from proctor.service.batches.run import run_batch
from proctor.service.context import open_context
from proctor.service.data import merge as merging
from proctor.service.data.merge import Merged
from proctor.service.evidence.compare import compared
from proctor.service.evidence.leaderboard import leaderboard
from proctor.service.opening.simulate import known_answers
from proctor.service.runs.planning import plan_of_batch, plan_of_wanted
from proctor.settings import Settings
from proctor.types import Run, Shard, Status
from programs import csv_of_sums, proctor, started
from request_files import lines
from simulators import nearby, settings

pytestmark = pytest.mark.slow

N, OF = 31, 3
merge = opened(merging.merge)


@dataclass(frozen=True, slots=True)
class House:
    """A file of questions, a model that knows most answers, and a home for whatever is asked."""

    folder: Path
    file: Path
    url: str

    def at(self, name: str) -> Settings:
        home = self.folder / name
        home.mkdir(exist_ok=True)
        return settings(home)

    def plan(self, given: Settings, shard: Shard | None, **more: Any) -> Any:
        words = {"base_url": f"{self.url}/v1", **more, **({"shard": shard} if shard else {})}
        return plan_of_wanted(Wanted(str(self.file), ("openai/sim",), words), given)

    def ask(self, name: str, shard: Shard | None = None, **more: Any) -> Run:
        given = self.at(name)
        outcome = start(given, self.plan(given, shard, **more))
        assert outcome.evaluation is not None
        run: Run = outcome.evaluation.results[0].run
        return run

    def parts(self, of: int = OF, **more: Any) -> list[str]:
        """Each part in a home of its own; the homes."""
        for index in range(of):
            self.ask(f"part{index}", Shard(index, of), **more)
        return [str(self.folder / f"part{index}") for index in range(of)]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    file = csv_of_sums(tmp_path / "sums.csv", N)
    with nearby(known_answers(settings(tmp_path), [file]), "--accuracy", "0.7") as url:
        yield House(tmp_path, file, url)


def rows_of(given: Settings, run: Run) -> dict[tuple[str, int], tuple[Any, ...]]:
    """What was measured, item by item, with what was said."""
    with open_context(given) as context:
        return {
            (row.item_id, row.repeat): (
                row.position,
                row.item_hash,
                row.outcome,
                row.score,
                row.answer,
                row.input_tokens,
                row.output_tokens,
                context.store.payload(run.id, row.item_id, row.repeat)["text"],
                context.store.item(row.item_hash).ask,
            )
            for row in context.store.latest(run.id)
        }


def run_of(merged: Merged) -> Run:
    assert merged.outcome.evaluation is not None
    run: Run = merged.outcome.evaluation.results[0].run
    return run


def all_runs(given: Settings) -> list[Run]:
    with open_context(given) as context:
        return context.store.runs(limit=None)


@pytest.mark.promise("X-17")
def test_three_parts_in_three_homes_equal_the_whole_item_by_item(house: House) -> None:
    whole, here = house.ask("whole", repeats=2), house.at("here")
    homes = house.parts(repeats=2)
    run = run_of(merge(here, homes))
    assert rows_of(here, run) == rows_of(house.at("whole"), whole)
    assert (run.status, run.planned, run.settled, run.stopped) == (Status.COMPLETED, 2 * N, 2 * N, None)
    assert (run.comparability, run.exam, run.cell.limits.shard) == (whole.comparability, whole.exam, None)
    with open_context(here) as context, open_context(house.at("whole")) as other:
        assert context.store.scores(run.id) == other.store.scores(whole.id)


def test_attempts_keep_their_times_and_the_run_takes_the_time_of_its_longest_part(house: House) -> None:
    homes, here = house.parts(), house.at("here")
    parts = [all_runs(house.at(Path(home).name))[0] for home in homes]
    run = run_of(merge(here, homes))
    told, asked = (
        times(here, run),
        [times(house.at(Path(h).name), p) for h, p in zip(homes, parts, strict=True)],
    )
    assert told == {item: at for part in asked for item, at in part.items()}
    assert run.elapsed_s == pytest.approx(max(part.elapsed_s for part in parts))
    assert run.created_at == min(part.created_at for part in parts)
    assert run.manifest.parts == {part.id: str(part.cell.limits.shard) for part in parts}
    assert any("its time is that of the longest" in remark for remark in run.manifest.remarks)


def times(given: Settings, run: Run) -> dict[str, float]:
    with open_context(given) as context:
        return {row.item_id: row.at for row in context.store.latest(run.id)}


def test_a_part_is_planned_and_complete_by_its_own_and_on_no_board(house: House) -> None:
    run = house.ask("part", Shard(1, OF))
    assert (run.planned, run.settled, run.partial) == (10, 10, False)
    assert run.stopped is not None and "shard 2/3" in run.stopped
    given = house.at("part")
    assert "shard 2/3" in proctor(given.home, "show", run.id).stdout
    assert "shard 2/3" in proctor(given.home, "list").stdout
    with open_context(given) as context, pytest.raises(NotFound, match="No complete runs"):
        leaderboard(context)
    with open_context(given) as context:
        score = context.store.scores(run.id)[0].estimate
        assert (score.scored, score.value is not None) == (10, True)


def test_a_part_is_compared_with_the_whole_on_the_items_they_share(house: House) -> None:
    whole = house.ask("one")
    part = house.ask("one", Shard(0, OF))
    with open_context(house.at("one")) as context:
        found = compared(context, [whole.id, part.id])
    assert found.evaluation.comparisons[0].whole.shared == part.planned == 11


def test_the_same_words_again_go_on_with_the_part_and_ask_nothing_twice(house: House) -> None:
    first = house.ask("part", Shard(2, OF))
    again = house.ask("part", Shard(2, OF))
    assert (again.id, times(house.at("part"), again)) == (first.id, times(house.at("part"), first))
    other = house.ask("part", Shard(0, OF))
    assert other.id != first.id


def test_merging_again_gives_the_same_run(house: House) -> None:
    homes, here = house.parts(), house.at("here")
    first = run_of(merge(here, homes))
    again = merge(here, list(reversed(homes)))
    assert run_of(again).id == first.id and "before" in again.told[0]
    assert len(all_runs(here)) == 1


def test_a_missing_part_is_named_and_a_partial_merge_is_completed_by_resume(house: House) -> None:
    whole, here = house.ask("whole"), house.at("here")
    homes = house.parts()
    with pytest.raises(ConfigError, match=r"shard 2/3 missing \(there: 1/3, 3/3\)"):
        merge(here, [homes[0], homes[2]])
    assert all_runs(here) == []
    merged = merge(here, [homes[0], homes[2]], partial=True)
    run = run_of(merged)
    assert (run.planned, run.settled, run.partial) == (N, N - 10, True)
    assert run.stopped == "shards 2 of 3 are missing"
    assert merged.outcome.unfinished == (run.id,)
    completed = resume(here, [run.id])
    assert completed.evaluation is not None and not completed.evaluation.results[0].run.partial
    assert rows_of(here, run) == rows_of(house.at("whole"), whole)
    with pytest.raises(Conflict, match="gone on by itself"):
        merge(here, homes)


def test_a_part_that_comes_later_is_added_to_the_partial_run(house: House) -> None:
    whole, here = house.ask("whole"), house.at("here")
    homes = house.parts()
    early = run_of(merge(here, homes[:2], partial=True))
    run = run_of(merge(here, homes))
    assert (run.id, run.partial, run.stopped) == (early.id, False, None)
    assert rows_of(here, run) == rows_of(house.at("whole"), whole)


def test_a_part_that_is_there_twice_counts_once_if_it_is_the_same(house: House, tmp_path: Path) -> None:
    homes, here = house.parts(), house.at("here")
    packed = tmp_path / "part0.zip"
    bundle(house.at("part0"), [all_runs(house.at("part0"))[0].id], packed, prompts=True)
    run = run_of(merge(here, [*homes, str(packed)]))
    assert (run.settled, len(run.manifest.parts)) == (N, OF)


def test_a_part_that_is_there_twice_and_differs_is_refused_with_its_items(house: House) -> None:
    homes, here = house.parts(), house.at("here")
    other = house.ask("again", Shard(0, OF))
    with pytest.raises(ConfigError, match="same part, and their attempts differ: items sums/"):
        merge(here, [*homes, str(house.folder / "again")])
    run = run_of(merge(here, [*homes, str(house.folder / "again")], chosen=[other.id[:8]]))
    assert other.id in run.manifest.parts


@pytest.mark.parametrize(
    ("more", "word"),
    [({"seed": 7}, "sampling"), ({"limit": 30}, "items"), ({"repeats": 2}, "repeats")],
    ids=["another sampling", "other items", "more repeats"],
)
def test_parts_that_were_not_asked_the_same_are_refused(
    house: House, more: dict[str, Any], word: str
) -> None:
    house.ask("part0", Shard(0, 2))
    house.ask("part1", Shard(1, 2), **more)
    with pytest.raises(ConfigError, match=f"not asked the same: they differ in their {word}"):
        merge(house.at("here"), [str(house.folder / "part0"), str(house.folder / "part1")])


def test_parts_of_unlike_divisions_are_refused(house: House) -> None:
    house.ask("part0", Shard(0, 2))
    house.ask("part1", Shard(1, 3))
    with pytest.raises(ConfigError, match=r"number of shards \(2 and 3\)"):
        merge(house.at("here"), [str(house.folder / "part0"), str(house.folder / "part1")])


def test_what_holds_no_part_says_so(house: House, tmp_path: Path) -> None:
    whole = house.ask("whole")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match=r"there is no proctor\.db"):
        merge(house.at("here"), [str(empty)])
    with pytest.raises(DataError, match="no run of a part"):
        merge(house.at("here"), [str(house.folder / "whole")])
    with pytest.raises(ConfigError, match="asked whole"):
        merge(house.at("whole"), [whole.id])


def test_bundles_of_parts_are_merged_and_without_questions_they_are_refused(
    house: House, tmp_path: Path
) -> None:
    whole, here = house.ask("whole"), house.at("here")
    packed, bare = [], []
    for home in house.parts():
        given = house.at(Path(home).name)
        packed.append(str(tmp_path / f"{given.home.name}.zip"))
        bare.append(str(tmp_path / f"{given.home.name}-bare.zip"))
        ids = [all_runs(given)[0].id]
        bundle(given, ids, Path(packed[-1]), prompts=True)
        bundle(given, ids, Path(bare[-1]))
    with pytest.raises(DataError, match="it holds no questions"):
        merge(house.at("bare"), bare)
    run = run_of(merge(here, packed))
    assert rows_of(here, run) == rows_of(house.at("whole"), whole)


def test_parts_asked_into_one_store_are_merged_by_their_ids(house: House) -> None:
    whole = house.ask("one")
    ids = [house.ask("one", Shard(index, OF)).id for index in range(OF)]
    run = run_of(merge(house.at("one"), ids))
    assert rows_of(house.at("one"), run) == rows_of(house.at("one"), whole)


def test_a_merge_that_is_killed_goes_on_where_it_broke_off(house: House) -> None:
    csv_of_sums(house.file, 3000)
    here, homes = house.at("here"), []
    for index in range(2):
        given = house.at(f"part{index}")
        start(
            given,
            plan_of_wanted(
                Wanted(str(house.file), ("baseline/majority",), {"shard": Shard(index, 2)}), given
            ),
        )
        homes.append(str(given.home))
    with open_context(here) as context:
        process = started(here.home, ["merge", *homes])
        until(lambda: any(run.settled for run in context.store.runs()))
        with context.store.writing():  # it waits for its turn
            process.send_signal(signal.SIGKILL)
            process.communicate()
        (left,) = context.store.runs()
    assert left.status is Status.RUNNING and 0 < left.settled < 3000
    run = run_of(merge(here, homes))
    assert (run.id, run.status, run.settled) == (left.id, Status.COMPLETED, 3000)


def test_a_merge_that_fails_leaves_a_failed_run_that_the_next_one_fills(house: House, tmp_path: Path) -> None:
    homes, here = house.parts(), house.at("here")
    bare = tmp_path / "bare.zip"
    bundle(house.at("part2"), [all_runs(house.at("part2"))[0].id], bare)
    with pytest.raises(DataError, match="it holds no questions"):
        merge(here, [*homes[:2], str(bare)])
    (left,) = all_runs(here)
    assert (left.status, left.settled) == (Status.FAILED, N - 10)
    assert run_of(merge(here, homes)).id == left.id


def test_a_part_that_is_killed_is_refused_until_the_same_words_have_completed_it(house: House) -> None:
    homes = house.parts()
    given, here = house.at("killed"), house.at("here")
    with nearby(known_answers(given, [house.file]), "--accuracy", "0.7", "--latency", "0.2") as slow:
        words = [
            "run",
            str(house.file),
            "--model",
            "openai/sim",
            "--base-url",
            f"{slow}/v1",
            "--parallel",
            "2",
        ]
        process = started(given.home, [*words, "--shard", "1/3"])
        until(
            lambda: (
                any(run.settled for run in all_runs(given)) if (given.home / "proctor.db").exists() else False
            )
        )
        process.send_signal(signal.SIGKILL)
        process.communicate()
    killed = all_runs(given)[0]
    sources = [str(given.home), *homes[1:]]
    with pytest.raises(ConfigError, match=f"proctor resume {killed.id[:8]}"):
        merge(here, sources)
    proctor(given.home, *words[:5], f"{house.url}/v1", *words[6:], "--shard", "1/3")
    run = run_of(merge(here, sources))
    assert killed.id in run.manifest.parts
    assert rows_of(here, run) == rows_of(house.at("here"), run_of(merge(here, homes)))


def until(true: Any) -> None:
    for _ in range(2000):
        if true():
            return
        time.sleep(0.01)  # another process's progress: there is nothing to wait on but the clock
    raise AssertionError("it never came true")


def test_parts_of_a_batch_become_a_run_whose_output_can_be_written(house: House, tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_bytes(lines(10))
    homes = []
    for index in range(2):
        given = house.at(f"batch{index}")
        words = {
            "base_url": f"{house.url}/v1",
            "shard": Shard(index, 2),
            "out": str(given.home / "out.jsonl"),
        }
        with open_context(given) as context:
            run_batch(context, plan_of_batch(Wanted(str(file), ("openai/sim",), words, "batch run"), given))
        homes.append(str(given.home))
        assert len((given.home / "out.jsonl").read_bytes().splitlines()) == 5
    here = house.at("here")
    run = run_of(merge(here, homes))
    assert isinstance(run.cell.source, BatchRef) and run.cell.source.out is None
    assert (run.planned, run.settled) == (10, 10)
    out = tmp_path / "out.jsonl"
    proctor(here.home, "batch", "export", run.id, "-o", str(out))
    ids = [json.loads(line)["custom_id"] for line in out.read_bytes().splitlines()]
    assert ids == [f"request-{number}" for number in range(10)]
