"""Scenarios: read, listed, run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from usrdccp import _native
from usrdccp._law import Law, Laws, code_of
from usrdccp._results import Results


class Mistake(NamedTuple):
    """A mistake in a scenario."""

    file: str
    line: int
    column: int
    what: str
    next: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.what}\n next: {self.next}"


class ScenarioError(ValueError):
    """A text is not a scenario: all its mistakes, each with its place and the next step."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__(mistakes)
        self.mistakes = mistakes

    def __str__(self) -> str:
        return "\n".join(map(str, self.mistakes))


class Progress(NamedTuple):
    """The progress of a run."""

    share: float
    """The share of the expected work that is done, 0 to 1."""
    cells_over: int
    """Cells that are finished or have failed."""
    cells: int
    """All cells of the run."""


OnProgress = Callable[[Progress], object]
Cells = Iterable["_native.Cell | str"]


class Scenario:
    """A scenario: an experiment with its cells."""

    def __init__(
        self, text: bytes, file: str, laws: list[tuple[str, Callable[[], Law], str]], quick: bool
    ) -> None:
        """Use `read` or `parse`."""
        self._text = text
        self._file = file
        self._laws = laws
        self._quick = quick
        try:
            self._native = _native.Scenario.parse(text, file, laws, quick)
        except ValueError as error:
            if not isinstance(error.args[0], list):
                raise
            mistakes = [
                Mistake(name, line, column, what, next) for name, (line, column), what, next in error.args[0]
            ]
            raise ScenarioError(mistakes) from None

    @classmethod
    def read(cls, path: str | os.PathLike[str], laws: Laws | None = None, quick: bool = False) -> Scenario:
        """Reads a scenario file. `laws` are laws in Python by the names that `cc` has for them in the file.

        `quick`: the shorter experiment that the file's `[quick]` describes.

        Raises `ScenarioError` with all mistakes of the file, and `OSError` if it cannot be read.
        """
        return cls(Path(path).read_bytes(), os.fspath(path), _with_code(laws), quick)

    @classmethod
    def parse(
        cls, text: str, laws: Laws | None = None, file: str = "scenario.toml", quick: bool = False
    ) -> Scenario:
        """Parses the text of a scenario file; `file` is its name in errors."""
        return cls(text.encode(), file, _with_code(laws), quick)

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._native.name

    @property
    def source(self) -> str | None:
        """Where the experiment was published."""
        return self._native.source

    @property
    def seed(self) -> int:
        """The source of all random numbers."""
        return self._native.seed

    @property
    def cells(self) -> list[_native.Cell]:
        """All cells, in the order of the results."""
        return self._native.cells()

    def run(
        self,
        cells: Cells | None = None,
        jobs: int | None = None,
        progress: OnProgress | None = None,
    ) -> Results:
        """Runs cells on `jobs` threads: all cells and all cores, if not told otherwise.

        A cell is one of `cells`, its label, the start of its key, or `variable=value,…`. `progress` is called a few
        times per second. Ctrl-C ends the run.
        """
        if jobs is not None and jobs < 1:
            raise ValueError(f"jobs: {jobs}: must be at least 1")

        def tell(share: float, over: int, cells: int) -> None:
            if progress is not None:
                progress(Progress(share, over, cells))

        native = self._native.play(self._numbers(cells), jobs, None if progress is None else tell)
        return Results(native, self._argv())

    def _numbers(self, cells: Cells | None) -> list[int]:
        if cells is None:
            return list(range(len(self._native.cells())))
        return self._native.chosen([cell if isinstance(cell, str) else cell.key for cell in cells])

    def _argv(self) -> list[str]:
        return ["dccplab", "run", self._file, *(["--quick"] if self._quick else [])]

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {len(self.cells)} cells>"


def _with_code(laws: Laws | None) -> list[tuple[str, Callable[[], Law], str]]:
    return [(name, make, code_of(make)) for name, make in (laws or {}).items()]
