"""Network experiments from scenario files: DCCP, TCP and UDP in virtual time.

>>> import usrdccp
>>> scenario = usrdccp.Scenario.read("scenarios/first-look.toml")
>>> results = scenario.run()
>>> results.to_pandas()

A scenario has cells: one for each combination of its variables. Cells do not depend on each other, so they run on
all cores, or with `sweep` on the workers of Dask. The results are the same bits everywhere.
"""

from usrdccp._law import Law
from usrdccp._native import Ack, Cell, Congestion, Window
from usrdccp._results import Results, Table
from usrdccp._scenario import Mistake, Progress, Scenario, ScenarioError
from usrdccp._sweep import sweep

__all__ = [
    "Ack",
    "Cell",
    "Congestion",
    "Law",
    "Mistake",
    "Progress",
    "Results",
    "Scenario",
    "ScenarioError",
    "Table",
    "Window",
    "sweep",
]
