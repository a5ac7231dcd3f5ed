"""A program that uses the package, for the checker of types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import usrdccp

if TYPE_CHECKING:
    from typing import assert_type


class Mine(usrdccp.Law):
    wants_one_way = True

    def on_ack(self, window: usrdccp.Window, ack: usrdccp.Ack) -> None:
        if ack.one_way_ns is not None and ack.rtt_ns is not None and ack.rtt_ns < 10**6:
            window.cwnd += ack.growth / window.cwnd


def show(progress: usrdccp.Progress) -> None:
    print(f"{progress.share:.0%} {progress.cells_over}/{progress.cells}")


def main() -> None:
    scenario = usrdccp.Scenario.read("scenario.toml", laws={"mine": Mine})
    results = scenario.run(cells=["law=mine", scenario.cells[0]], jobs=2, progress=show)
    text: str = results.csv + results.json + scenario.cells[0].key
    errors: dict[str, str] = results.errors
    again = usrdccp.sweep(scenario, "tcp://192.0.2.10:8786", cells=["mine"])
    if TYPE_CHECKING:
        assert_type(again, usrdccp.Results)
        assert_type(results.series("mine"), usrdccp.Table)
        assert_type(results.series("mine").parquet, bytes)
    print(text, errors, len(again))


if __name__ == "__main__":
    main()
