"""Campaigns on Dask."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from usrdccp._law import Law
from usrdccp._results import Results, library
from usrdccp._scenario import Cells, OnProgress, Progress, Scenario

if TYPE_CHECKING:
    import distributed


class _Task(NamedTuple):
    """The needs of a worker beside the number of a cell."""

    text: bytes
    file: str
    laws: list[tuple[str, Callable[[], Law], str]]
    quick: bool


def sweep(
    scenario: Scenario,
    client: distributed.Client | str | None = None,
    *,
    cells: Cells | None = None,
    workers: int | None = None,
    progress: OnProgress | None = None,
) -> Results:
    """Runs cells on the workers of Dask. The results are the same bits as those of `scenario.run`.

    `client` is a client of Dask or the address of a scheduler. Without it, a cluster of `workers` processes begins on
    this machine, one per core if not told otherwise, and ends with the sweep. A worker that dies costs the cells that
    it was playing: they are played again on others. Workers need the same build of this package, and the files that
    the scenario names, at the same place.
    """
    distributed = library("distributed", "dask")
    numbers = scenario._numbers(cells)
    task = _Task(scenario._text, os.path.abspath(scenario._file), scenario._laws, scenario._quick)
    with contextlib.ExitStack() as stack:
        if client is None:
            cluster = distributed.LocalCluster(
                n_workers=workers or os.cpu_count(), threads_per_worker=1, dashboard_address=None
            )
            client = stack.enter_context(distributed.Client(stack.enter_context(cluster)))
        elif isinstance(client, str):
            client = stack.enter_context(distributed.Client(client))
        played = _play_all(distributed, client, task, numbers, progress)
    native = scenario._native.results([text for _, text in played])
    for program, _ in played:
        if program != native.program_hash:
            raise RuntimeError("a worker has another build of usrdccp; install the same wheel everywhere")
    return Results(native, scenario._argv())


def _play_all(
    distributed: Any, client: Any, task: _Task, numbers: list[int], progress: OnProgress | None
) -> list[tuple[str, str]]:
    """Gathers each cell as soon as it is played, so that it is not lost with its worker."""
    sweep = uuid.uuid4().hex
    keys = [f"usrdccp-{sweep}-{number}" for number in numbers]
    futures = client.map(_play, numbers, key=keys, task=task, pure=False)
    waiting = dict(zip(keys, futures, strict=True))
    del futures
    played: dict[str, tuple[str, str]] = {}
    try:
        for future, result in distributed.as_completed(list(waiting.values()), with_results=True):
            played[future.key] = result
            # Without a future, the scheduler forgets the cell.
            del waiting[future.key]
            if progress is not None:
                progress(Progress(len(played) / len(keys), len(played), len(keys)))
    except BaseException:
        client.cancel(list(waiting.values()), force=True)
        raise
    return [played[key] for key in keys]


_known: dict[tuple[bytes, str, tuple[tuple[str, str], ...], bool], Scenario] = {}


def _play(number: int, task: _Task) -> tuple[str, str]:
    """Plays a cell in a worker. Returns the hash of the program and the cell's JSON."""
    # A worker parses a scenario once.
    key = (task.text, task.file, tuple((name, code) for name, _, code in task.laws), task.quick)
    scenario = _known.get(key)
    if scenario is None:
        _known.clear()
        scenario = _known[key] = Scenario(task.text, task.file, task.laws, task.quick)
    results = scenario._native.play([number], 1, None)
    return results.program_hash, results.cell_json(0)
