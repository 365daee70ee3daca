"""Trials on three machines with one PostgreSQL and a bucket of moto's server: the one that owns them is lost midway.

Of its home nothing is ever seen again. What the tests see, they see on one of the machines that are left.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard
from boxed import need_bubblewrap
from moto_server import asked, environ_of
from three_hosts import AGENT, HOSTS, TASK, ThreeHosts, TrialsCompared, compared, stamp_of, three_hosts

from postgres_server import Postgres
from proctor.errors import SharedError
from proctor.service.admin import prune
from proctor.service.hosts.agents import contents_of
from proctor.service.hosts.tasks import shared_task
from proctor.service.hosts.trials import have, prefix_of
from proctor.service.opening import needs
from proctor.service.rollouts import trial as trial_pages
from proctor.service.rollouts.local.again import evaluate_again
from proctor.service.rollouts.local.summarize import summarized
from proctor.service.rollouts.trial import TrialName
from proctor.store.shared.contract import Shared
from proctor.store.shared.opening import shared_of
from proctor.types import Run, Status
from real import Running

N = 4
LONGEST_S = 100.0


@dataclass
class Lost:
    """Three hosts of which one is gone; `left` is the home of another."""

    here: ThreeHosts
    alone: Run
    run: Run
    dead: str
    left: str
    moto: Running

    @property
    def home(self) -> Path:
        return self.here.home(self.left)

    @property
    def shared(self) -> Shared:
        found = shared_of(self.here.settings(self.left), self.here.store)
        assert found is not None
        return found

    def folder(self, number: int) -> Path:
        return self.home / "runs" / f"{stamp_of(self.run)}-{number}"

    def names(self, number: int) -> list[str]:
        return [name for name in self.shared.names(prefix_of(self.run.id)) if f"/{number}-" in name]


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres, moto: Running) -> Iterator[Lost]:
    need_bubblewrap()
    given = {"environ": environ_of(moto, "s3://trials/of the team"), "seconds": "0.3", "lease_s": 2.0}
    folder = tmp_path_factory.mktemp("hosts")
    with three_hosts(folder, postgres.url(postgres.new_database()), N, **given) as here:
        here.start(HOSTS[0])
        alone = here.submit("alone", 3)
        here.until(lambda: here.ended(alone), "a single process ends", LONGEST_S)
        for host in HOSTS[1:]:
            here.start(host)
        here.until(lambda: all(each.said for each in here.machines.values()), "all are there", LONGEST_S)
        run = here.submit("three", 3)
        # However slow or quick the machine: the owner is held until another has begun.
        here.until(lambda: here.owner(run) and here.divided(run), "its owner has divided it", LONGEST_S)
        dead = here.owner(run)
        here.machines[dead].hold()
        here.until(lambda: here.at_work(run) - {dead}, "others work", LONGEST_S)
        here.kill(dead)
        here.until(lambda: here.ended(run), "the others end it", LONGEST_S)
        # One of them may have done all that the lost one had left: what it must be brought is asked of the other.
        left = min(here.machines, key=lambda host: len(list(here.home(host).glob(f"runs/{stamp_of(run)}-*"))))
        for host in list(here.machines):
            here.stop(host)
        yield Lost(here, here.store.run(alone.id), here.store.run(run.id), dead, left, moto)


@pytest.mark.promise("C-26")
def test_three_machines_of_which_one_is_lost_run_what_a_single_process_runs_trial_by_trial(
    lost: Lost,
) -> None:
    assert (lost.run.status, lost.run.settled, lost.run.error) == (Status.COMPLETED, N, None)
    assert compared(lost.here, lost.run, lost.alone) == TrialsCompared(N, lost=0, doubled=0, different=0)
    passed = [each.state for each in lost.here.shown(lost.run, lost.left)]
    assert passed == ["passed", "passed", "failed", "passed"]


def test_a_machine_has_the_task_and_the_agent_by_their_hashes_and_no_others_in_their_place(
    lost: Lost,
) -> None:
    cell = lost.run.cell
    (entry,) = cell.source.tasks  # type: ignore[union-attr]  # of a benchmark of tasks
    assert entry.content is not None and lost.shared.has(shared_task(entry.content))
    assert cell.agent is not None and cell.agent.name == AGENT
    (sha256,) = contents_of(cell.agent).values()
    others = [lost.home / "cache/tasks" / entry.content, lost.home / "cache/agents" / sha256]
    script = lost.here.home(HOSTS[0]) / "agent.sh"
    script.write_text("exit 1")  # another one by now
    context = lost.here.context(lost.left)
    needs.bring_cells(context, [cell])
    assert all(each.exists() for each in others)
    whole = others[1].read_text()
    assert "sleep 0.3" in whole
    (others[0] / "task/evaluation/test_double.py").write_text("pass")
    others[1].write_text("exit 1")
    needs.bring_cells(context, [cell])
    assert "assert double" in (others[0] / "task/evaluation/test_double.py").read_text()
    assert others[1].read_text() == whole
    # What lies there in the task's place is refused, and nothing of it is kept.
    right = lost.home / "right"
    right.write_bytes(b"".join(lost.shared.pieces(shared_task(entry.content))))
    for wrong, why in (
        ({"../../escaped": b"x"}, "leads elsewhere"),
        ({"tb_meta.json": b"{}"}, "another task"),
    ):
        lost.shared.drop(shared_task(entry.content))
        lost.shared.put(shared_task(entry.content), packed(wrong, lost.home))
        (others[0] / "task/evaluation/test_double.py").write_text("pass")
        with pytest.raises(SharedError, match=why):
            needs.bring_cells(context, [cell])
    assert not (lost.home.parent / "escaped").exists()
    lost.shared.drop(shared_task(entry.content))
    lost.shared.put(shared_task(entry.content), right)
    needs.bring_cells(context, [cell])


def test_the_folder_of_every_trial_is_had_on_any_machine_and_what_lies_in_its_place_is_refused(
    lost: Lost,
) -> None:
    context = lost.here.context(lost.left)
    rows = {row.repeat: row for row in lost.here.store.latest(lost.run.id)}
    away = [number for number in range(N) if not lost.folder(number).is_dir()]
    assert away, "some were run on other machines"
    number = away[0]
    (name,) = lost.names(number)
    whole = b"".join(lost.shared.pieces(name))
    for other in (whole[:-1], packed({"../escaped": b"x"}, lost.home).read_bytes(), b"nothing"):
        lost.shared.drop(name)
        (lost.home / "other").write_bytes(other)
        lost.shared.put(name, lost.home / "other")
        assert not have(context, lost.run, number, rows[number])
        assert not lost.folder(number).exists() and not (lost.home / "escaped").exists()
    lost.shared.drop(name)
    (lost.home / "other").write_bytes(whole)
    lost.shared.put(name, lost.home / "other")
    shown = trial_pages.one_trial(context, TrialName(lost.run.plan_id, lost.run.id, TASK, number))
    assert shown.here and "agent.log" in [each.name for each in shown.files]
    diff = trial_pages.file_bytes(
        context, TrialName(lost.run.plan_id, lost.run.id, TASK, number), "diff.patch"
    )
    assert f"+rollout {number}\n".encode() in diff


def test_files_and_a_second_verdict_are_had_on_a_machine_that_ran_none_of_it(
    lost: Lost, tmp_path: Path
) -> None:
    lost.here.environ = {**lost.here.environ, "PROCTOR_HOME": str(tmp_path)}
    try:
        (tmp_path / "images").symlink_to(lost.home / "images")
        context = lost.here.context(lost.left)
        assert context.settings.home == tmp_path
        found = summarized(context, [lost.run])
        assert [each["state"] for each in found.manifest["results"]] == [
            "passed",
            "passed",
            "failed",
            "passed",
        ]
        for each in found.manifest["results"]:
            assert (tmp_path / "runs" / each["run_id"]) == Path(each["run_dir"])
            assert (Path(each["run_dir"]) / "evaluation_results.json").is_file()
        assert len((found.folder / "runs.txt").read_text().splitlines()) == N
        again = evaluate_again(context, [lost.run])
        assert len(again.verified) == N and not again.differing and not again.failed
    finally:
        lost.here.environ = {
            name: value for name, value in lost.here.environ.items() if name != "PROCTOR_HOME"
        }


def test_with_its_run_a_trial_s_folder_goes_from_the_bucket_and_no_other(lost: Lost) -> None:
    told = asked(lost.moto, "GET", "/trials?list-type=2").decode()
    assert lost.run.id in told and lost.alone.id in told
    assert len(lost.shared.names(prefix_of(lost.alone.id))) == N
    context = lost.here.context(lost.left)
    prune.delete(context, lost.run.id)
    assert lost.shared.names(prefix_of(lost.run.id)) == []
    assert not lost.folder(0).exists()
    assert len(lost.shared.names(prefix_of(lost.alone.id))) == N


def packed(files: dict[str, bytes], folder: Path) -> Path:
    """A packed folder of somebody who means harm."""
    path = folder / "packed"
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as tar:
        for name, content in files.items():
            told = tarfile.TarInfo(name)
            told.size = len(content)
            tar.addfile(told, io.BytesIO(content))
    path.write_bytes(zstandard.compress(body.getvalue()))
    return path
