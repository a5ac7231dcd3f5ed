"""Results: the document as JSON, and tables for Arrow, pandas and polars."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

from usrdccp import _native

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def library(name: str, extra: str) -> Any:
    """Imports a library that only some functions need; `extra` is the extra of this package that has it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed; write pip install 'usrdccp[{extra}]'") from error


class Table:
    """A table. Its columns are texts, whole numbers and numbers; unknown values are null."""

    def __init__(self, csv: str, parquet: bytes) -> None:
        self.csv = csv
        """The table as CSV, with the names of the columns in the first line."""
        self.parquet = parquet
        """The bytes of the table as a Parquet file."""

    def to_arrow(self) -> pyarrow.Table:
        """The table of pyarrow."""
        pyarrow = library("pyarrow", "arrow")
        parquet = library("pyarrow.parquet", "arrow")
        return parquet.read_table(pyarrow.BufferReader(self.parquet))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's C data interface: libraries that know it take the table as it is."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """The data frame of pandas."""
        library("pandas", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The data frame of polars."""
        frame: polars.DataFrame = library("polars", "polars").read_parquet(self.parquet)
        return frame


class Results(Table):
    """Results of the cells of a scenario. As a table, they have a row for each flow of each cell."""

    def __init__(self, native: _native.Results, argv: list[str]) -> None:
        super().__init__(*native.table())
        self._native = native
        self._argv = argv

    def __len__(self) -> int:
        """The number of cells."""
        return len(self._native)

    @property
    def json(self) -> str:
        """The document as `dccplab run --json` writes it; only the record of the program differs."""
        return self._native.json(self._argv)

    def to_dict(self) -> dict[str, Any]:
        """The same document as dictionaries and lists."""
        document: dict[str, Any] = json.loads(self.json)
        return document

    @property
    def keys(self) -> list[str]:
        """The keys of the cells."""
        return [key for key, _, _ in self._native.heads()]

    @property
    def errors(self) -> dict[str, str]:
        """Why cells failed, by their keys."""
        return {key: error for key, _, error in self._native.heads() if error is not None}

    def series(self, cell: _native.Cell | str) -> Table:
        """The series of a cell: a row for each interval. `cell` is a cell, its key or the start of it, or its label."""
        return Table(*self._native.series(self._number(cell)))

    def _number(self, cell: _native.Cell | str) -> int:
        name = cell if isinstance(cell, str) else cell.key
        heads = self._native.heads()
        found = [n for n, (key, label, _) in enumerate(heads) if name in (key, label)]
        found = found or [n for n, (key, _, _) in enumerate(heads) if len(name) >= 4 and key.startswith(name)]
        if len(found) != 1:
            raise KeyError(f"{name}: {len(found)} cells have this name; `keys` lists them")
        return found[0]
