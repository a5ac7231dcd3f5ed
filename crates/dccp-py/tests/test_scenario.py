"""Scenarios: read, listed, run."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import usrdccp
from conftest import Text


def test_cells_are_listed_in_the_order_of_the_file(text: Text) -> None:
    scenario = usrdccp.Scenario.parse(text(repeat=2))
    assert (scenario.name, scenario.seed, scenario.source) == ("small", 5, None)
    assert [cell.label for cell in scenario.cells] == ["reno", "reno, repeat 1", "cubic", "cubic, repeat 1"]
    first = scenario.cells[0]
    assert (first.variables, first.repeat, first.duration_s) == ({"law": "reno"}, 0, 3.0)
    assert len({cell.key for cell in scenario.cells}) == 4
    assert repr(scenario) == "<Scenario small: 4 cells>"


def test_mistakes_have_places_and_next_steps(text: Text, tmp_path: Path) -> None:
    wrong = text().replace("delay", "dely").replace('"4Mbit"', '"4Mbt"')
    path = tmp_path / "wrong.toml"
    path.write_text(wrong)
    with pytest.raises(usrdccp.ScenarioError) as raised:
        usrdccp.Scenario.read(path)
    rate, delay = raised.value.mistakes
    assert (rate.file, rate.line, delay.line, delay.column) == (str(path), 10, 11, 1)
    assert str(delay) == f"{path}:11:1: there is no key dely here\n next: did you mean delay?"
    assert str(raised.value) == f"{rate}\n{delay}"
    assert isinstance(raised.value, ValueError)


def test_missing_file_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        usrdccp.Scenario.read("none.toml")


def test_results_do_not_depend_on_threads(text: Text) -> None:
    scenario = usrdccp.Scenario.parse(text())
    assert scenario.run(jobs=1).json == scenario.run(jobs=2).json


def test_cells_are_chosen_by_name_and_by_themselves(text: Text) -> None:
    scenario = usrdccp.Scenario.parse(text(("reno", "cubic", "bic")))
    reno, cubic, bic = scenario.cells
    assert scenario.run(["law=cubic", bic, reno.key[:8]]).keys == [reno.key, cubic.key, bic.key]
    with pytest.raises(KeyError, match="vegas: there is no such cell"):
        scenario.run(["vegas"])
    with pytest.raises(ValueError, match="jobs: 0: must be at least 1"):
        scenario.run(jobs=0)


def test_progress_ends_with_everything(text: Text) -> None:
    seen: list[usrdccp.Progress] = []
    usrdccp.Scenario.parse(text()).run(progress=seen.append)
    assert seen[-1] == usrdccp.Progress(share=pytest.approx(1.0), cells_over=2, cells=2)
    shares = [progress.share for progress in seen]
    assert shares == sorted(shares)


def test_exception_of_progress_ends_the_run(text: Text) -> None:
    def fail(progress: usrdccp.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        usrdccp.Scenario.parse(text()).run(progress=fail)


def test_other_threads_run_while_the_simulator_plays(text: Text) -> None:
    is_over = threading.Event()
    steps = 0

    def count() -> None:
        nonlocal steps
        while not is_over.is_set():
            steps += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    scenario = usrdccp.Scenario.parse(text(("reno",), duration="60s"))
    thread.start()
    scenario.run(jobs=1)
    is_over.set()
    thread.join()
    # With the lock held there would be at most a step before the run and one after it.
    assert steps > 5


def test_ctrl_c_ends_a_run(text: Text, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(text(("reno",), duration="100h"))
    program = (
        "import usrdccp\n"
        f"usrdccp.Scenario.read({str(path)!r}).run(progress=lambda p: print('runs', flush=True))\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "runs\n"
    os.kill(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert errors.rstrip().endswith("KeyboardInterrupt"), errors
    assert child.returncode == -signal.SIGINT
