"""What `make bench` measures: the lines of its table, with the bars."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `by_ratio`: the value held against the bar is ours over the reference's."""

    name: str
    what: str
    bar: float | None
    decimals: int
    at_least: bool = False
    by_ratio: bool = False


# Pages of the dashboard by the name that bench/dashboard.py has for them.
PAGES = {
    "run": "1,000,000 results: the run's page",
    "results": "the same: its results, first page",
    "of_task": "the same: of a task",
    "of_outcome": "the same: of an outcome",
    "task_and_outcome": "the same: of a task and an outcome, none there",
    "wrong": "the same: the wrong ones",
    "no_answer": "the same: without an answer",
    "flagged": "the same: flagged",
    "deep": "the same: a page in the middle",
    "deep_back": "the same: backwards, wrong, of a task",
    "id_one": "the same: an id",
    "id_many": "the same: what 100,000 ids begin with",
    "text_hit": "the same: text, found",
    "text_miss": "the same: text, not found",
    "item": "the same: an item's page",
    "item_wrong": "the same: an item among the wrong ones",
}


# Calls through the gateway by the name that bench/gateway.py has for them.
CALLS = {
    "same_plain": "ms of a call beyond the direct one, in the server's shape, plain",
    "same_stream": "the same, streamed",
    "translated_plain": "the same, Responses asked of a server of chats, plain",
    "translated_stream": "the same, streamed",
}


FIGURES: tuple[Figure, ...] = (
    Figure("cpu_ratio", "CPU s per 1,000 items, from 5,000 to 20,000 items", 1.5, 3, by_ratio=True),
    Figure("cpu_ratio_whole", "CPU s per 1,000 items, whole program, 5,000 items", None, 3, by_ratio=True),
    Figure(
        "req_per_s", "items a second, whole program, no latency, c=128", 0.53, 0, at_least=True, by_ratio=True
    ),
    Figure("memory_mb", "peak resident MB of the process tree, 5,000 items", 90, 1),
    Figure("first_request_s", "seconds from exec to the first request seen", 2, 3, by_ratio=True),
    Figure("help_ms", "ms of `proctor --help`; reference: an empty Python", 4, 0, by_ratio=True),
    Figure("efficiency", "lognormal 0.2 s, c=256: sum of latencies / 256 / wall", 0.74, 3, at_least=True),
    Figure("end_s", "the same: seconds from the last answer to the exit", None, 3),
    Figure("workers_req_per_s", "20,000 items, --workers 2; reference: one process", None, 0, at_least=True),
    Figure("saturation", "16 slots, limit found: answers a second / capacity", 0.97, 3, at_least=True),
    Figure("intervals_s", "all intervals of a run of 14,042; reference: one bootstrap", 2, 3),
    Figure("compare_s", "two such runs compared, task by task; the same", 2, 3),
    Figure("list_p95_ms", "10,000 runs: a list; reference: /healthz", 50, 1),
    Figure("history_p95_ms", "the same: history", 50, 1),
    Figure("leaderboard_p95_ms", "the same: leaderboard", 50, 1),
    Figure("board_first_ms", "the same: its first call after a run has ended", None, 0),
    Figure("busy_p95_ms", "the same: a list while a job runs at full speed", 50, 1),
    Figure("batch_cpu_ratio", "CPU s per 1,000 lines of a batch, 5,000 to 20,000", 1.5, 3, by_ratio=True),
    Figure("batch_req_per_s", "lines a second, whole program, 20,000 lines, c=128", 1500, 0, at_least=True),
    Figure("batch_memory_mb", "peak resident MB, 20,000 lines", None, 1),
    Figure("million_memory_mb", "the same, 1,000,000 lines; reference: the loop, 20,000", 150, 1),
    Figure("million_req_per_s", "lines a second, whole program, 1,000,000 lines", 1500, 0, at_least=True),
    *(
        Figure(f"eta_{at}", f"time left told at {at} %, times or parts of the true", None, 2)
        for at in (25, 50, 90)
    ),
    Figure("eta_inside", "share of looks whose range holds the true end", None, 2, at_least=True),
    Figure("upload_s", "100,000 requests uploaded and checked; reference: orjson parses them", None, 2),
    Figure(
        "trial_overhead_ms", "ms of a trial beyond the bare one; reference: bare sandbox and agent", 250, 0
    ),
    *(
        Figure(
            f"trials_per_s_{places}", f"trials a second at {places} places; the same", None, 1, at_least=True
        )
        for places in (1, 4, 8)
    ),
    *(
        Figure(f"gateway_{name}_ms", f"{what}; median; reference: direct", 5, 2)
        for name, what in CALLS.items()
    ),
    *(Figure(f"gateway_{name}_p95_ms", f"{what}; 95 %; the same", 5, 2) for name, what in CALLS.items()),
    *(
        figure
        for shape in ("same", "translated")
        for figure in (
            Figure(
                f"gateway_{shape}_streams",
                f"{shape} shape: streams at once that keep up",
                64,
                0,
                at_least=True,
            ),
            Figure(
                f"gateway_{shape}_event_us", f"{shape} shape: us of processor an event, 64 streams", None, 0
            ),
        )
    ),
    Figure("rows_first_ms", "1,000,000 requests: the first page, 95 %; reference: the run's row", 50, 1),
    Figure("rows_middle_ms", "the same: a page in the middle", 50, 1),
    Figure("rows_last_ms", "the same: the last page", 50, 1),
    Figure("rows_filtered_ms", "the same: the slowest of all filters", 50, 1),
    Figure("row_export_mb_s", "the same: MB/s of output lines", None, 1, at_least=True),
    Figure("saturation_ollama", "4 slots, Ollama, limit found: the same", 0.97, 3, at_least=True),
    *(Figure(f"{name}_ms", f"{what}; median", None, 1) for name, what in PAGES.items()),
    *(Figure(f"{name}_p95_ms", f"{what}; 95 %", 50, 1) for name, what in PAGES.items()),
    Figure("overview_ms", "10,000 runs: Overview of one suite; median", None, 1),
    Figure("overview_p95_ms", "the same; 95 %", 1500, 1),
    Figure("overview_all_p95_ms", "the same, of all suites", 1500, 1),
    Figure("load_ms", "the same: first load, everything the page asks for, in turn", 1500, 0),
    Figure("load_kb", "the same: kB of it, gzipped", 700, 0),
    Figure("crowd_api_p95_ms", "50 pollers, 100 streams, 3 jobs: API, 95 %; reference: /healthz", 250, 0),
    Figure("crowd_api_max_ms", "the same: the slowest answer", None, 0),
    Figure("crowd_page_max_ms", "the same: the slowest page", 1000, 0),
    Figure("crowd_signs_late", "the same: workers' signs and leases that were late", 0, 0),
    Figure("crowd_server_mb", "the same: the server's resident MB at the end", None, 0),
    Figure("crowd_server_grown_mb", "the same: MB more than at the begin", 30, 0),
    Figure("crowd_items_share", "the same: the jobs' items a second, of those alone", None, 2, at_least=True),
    Figure("crowd_server_cores", "the same: processors that the server takes", None, 2),
)
