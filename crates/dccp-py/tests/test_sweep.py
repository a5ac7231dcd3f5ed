"""Campaigns on Dask."""

import os
import signal
from pathlib import Path

import distributed
import pytest
import usrdccp
from conftest import Text


class Counting(usrdccp.Law):
    """Writes two lines into a file for each cell that is played: both ends of the connection make a law."""

    def on_start(self, window: usrdccp.Window) -> None:
        with open(os.environ["PLAYS"], "a") as file:
            file.write("played\n")

    def on_ack(self, window: usrdccp.Window, ack: usrdccp.Ack) -> None:
        window.cwnd += ack.growth / window.cwnd


class Broken(usrdccp.Law):
    def on_ack(self, window: usrdccp.Window, ack: usrdccp.Ack) -> None:
        raise ZeroDivisionError("in the law")


def test_two_workers_give_the_same_bits_as_none(text: Text) -> None:
    scenario = usrdccp.Scenario.parse(text(repeat=100, duration="2s"))
    seen: list[usrdccp.Progress] = []
    swept = usrdccp.sweep(scenario, workers=2, progress=seen.append)
    assert len(swept) == 200
    assert swept.json == scenario.run().json
    assert [progress.cells_over for progress in seen] == list(range(1, 201))


def test_dead_worker_costs_only_the_cells_that_it_played(
    text: Text, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays = tmp_path / "plays"
    monkeypatch.setenv("PLAYS", str(plays))
    cells = 60
    scenario = usrdccp.Scenario.parse(text(("mine",), "4s", repeat=cells), {"mine": Counting})
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = min(client.run(os.getpid).values())

        def kill(progress: usrdccp.Progress) -> None:
            if progress.cells_over == 10:
                os.kill(victim, signal.SIGKILL)

        # By the address of the scheduler.
        swept = usrdccp.sweep(scenario, cluster.scheduler_address, progress=kill)
        assert victim not in client.run(os.getpid).values()
    played = plays.read_text().count("played") // 2
    assert cells <= played <= cells + 10, f"{played} plays of {cells} cells"
    assert swept.json == scenario.run().json


def test_exception_in_a_worker_is_raised_here(text: Text) -> None:
    scenario = usrdccp.Scenario.parse(text(("mine",), repeat=3), {"mine": Broken})
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        with pytest.raises(ZeroDivisionError, match="in the law"):
            usrdccp.sweep(scenario, client)
