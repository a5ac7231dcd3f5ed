"""Results as JSON and as tables."""

import csv
import io
import json

import pyarrow
import pytest
import usrdccp
from conftest import Text


@pytest.fixture
def results(text: Text) -> usrdccp.Results:
    return usrdccp.Scenario.parse(text()).run()


def test_document_is_that_of_dccplab(results: usrdccp.Results) -> None:
    document = results.to_dict()
    assert document == json.loads(results.json)
    assert (document["schema"], document["status"], document["exit_code"]) == ("dccplab-result/1", "complete", 0)
    assert [cell["key"] for cell in document["cells"]] == results.keys
    assert (len(results), results.errors) == (2, {})


def test_all_tables_have_the_same_values(results: usrdccp.Results) -> None:
    arrow = results.to_arrow()
    assert arrow.num_rows == 4
    assert arrow.schema.field("law").type == pyarrow.string()
    assert arrow.schema.field("flow.sent_packets").type == pyarrow.int64()
    assert arrow.schema.field("flow.throughput_bps").type == pyarrow.float64()
    rows = arrow.to_pylist()
    assert [(row["law"], row["flow.id"]) for row in rows] == [
        ("reno", "load"),
        ("reno", "ping"),
        ("cubic", "load"),
        ("cubic", "ping"),
    ]
    for n, cell in enumerate(results.to_dict()["cells"]):
        load = cell["summary"]["flows"][0]
        assert rows[2 * n]["flow.throughput_bps"] == load["throughput_bps"] > 1e6
        assert rows[2 * n]["flow.rtt_transport_ns.p99"] == load["rtt_transport_ns"]["p99"]
        assert rows[2 * n]["flow.rtt_ping_ns.p99"] is None
    assert results.to_polars().rows(named=True) == rows
    assert pyarrow.table(results) == arrow, "by Arrow's C data interface"
    frame = results.to_pandas()
    assert list(frame.columns) == arrow.column_names
    assert frame["flow.throughput_bps"].tolist() == arrow["flow.throughput_bps"].to_pylist()
    read = list(csv.DictReader(io.StringIO(results.csv)))
    assert [float(row["flow.throughput_bps"]) for row in read] == arrow["flow.throughput_bps"].to_pylist()


def test_series_are_those_of_the_document(text: Text) -> None:
    scenario = usrdccp.Scenario.parse(text())
    results = scenario.run()
    of_cell = results.to_dict()["cells"][1]["series"]
    for name in (scenario.cells[1], "cubic", scenario.cells[1].key[:6]):
        series = results.series(name).to_arrow()
        assert series["t_ns"].to_pylist() == of_cell["t_ns"] == [10**9, 2 * 10**9, 3 * 10**9]
        assert series["load.goodput_bps"].to_pylist() == of_cell["flows"][0]["goodput_bps"]
        assert series["a-b.there.utilisation"].to_pylist() == of_cell["links"][0]["utilisation"]
    with pytest.raises(KeyError, match="vegas: 0 cells have this name"):
        results.series("vegas")
