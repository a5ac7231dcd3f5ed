"""Laws in Python."""

import pytest
import usrdccp
from conftest import Text


class Halving(usrdccp.Law):
    """Reno with fractions of packets: the base class halves the window."""

    def on_ack(self, window: usrdccp.Window, ack: usrdccp.Ack) -> None:
        for _ in range(ack.growth):
            window.cwnd += 1 / window.cwnd


class Timid(Halving):
    """Takes nine tenths of the window at each event."""

    def on_congestion(self, window: usrdccp.Window, event: usrdccp.Congestion) -> None:
        assert event.cause == "loss" and event.packets >= 1
        window.reduce_to(window.cwnd / 10)


class Paced(Halving):
    """Sends 100 packets per second."""

    wants_delivered_rate = True

    def on_ack(self, window: usrdccp.Window, ack: usrdccp.Ack) -> None:
        super().on_ack(window, ack)
        if ack.delivered_rate is not None:
            assert ack.delivered_rate < 130, ack.delivered_rate

    def pacing_rate(self) -> float:
        return 100.0


class Broken(usrdccp.Law):
    def on_ack(self, window: usrdccp.Window, ack: usrdccp.Ack) -> None:
        raise ZeroDivisionError("in the law")


class Endless(usrdccp.Law):
    def on_ack(self, window: usrdccp.Window, ack: usrdccp.Ack) -> None:
        window.cwnd = float("nan")


class Stranger:
    pass


LAWS = {"halving": Halving, "timid": Timid, "paced": Paced}


def goodput(scenario: usrdccp.Scenario) -> dict[str, float]:
    rows = scenario.run().to_arrow().to_pylist()
    return {row["law"]: row["flow.throughput_bps"] for row in rows if row["flow.id"] == "load"}


@pytest.mark.parametrize("transport", ["dccp/ccid2", "tcp"])
def test_law_in_python_controls_the_window(text: Text, transport: str) -> None:
    laws = ("halving", "timid", "paced")
    scenario = usrdccp.Scenario.parse(text(laws, "20s", transport=transport), LAWS)
    bps = goodput(scenario)
    # 100 packets of at most 1460 bytes per second.
    assert 1e6 < bps["paced"] < 1.2e6
    assert bps["halving"] > 1.1 * bps["timid"], bps
    again = usrdccp.Scenario.parse(text(laws, "20s", transport=transport), LAWS)
    assert goodput(again) == bps, "the same bits"


def test_law_in_python_gives_the_bits_of_the_same_law_in_rust(text: Text) -> None:
    def cells(laws: tuple[str, ...]) -> list[tuple[object, object]]:
        scenario = usrdccp.Scenario.parse(text(laws, "20s"), {"mine": Halving})
        cells = scenario.run().to_dict()["cells"]
        for cell in cells:
            for flow in cell["summary"]["flows"]:
                flow.pop("transport")
        return [(cell["summary"], cell["series"]) for cell in cells]

    slow = ":fractional=yes,slow_start=standard"
    assert cells((f"reno{slow}",)) == cells(("mine",))


def test_streams_have_laws_of_their_own(text: Text) -> None:
    results = usrdccp.Scenario.parse(text(("halving*3",)), LAWS).run()
    assert results.to_dict()["cells"][0]["summary"]["flows"][0]["streams"] == 3


def test_exception_of_a_law_ends_the_run(text: Text) -> None:
    with pytest.raises(ZeroDivisionError, match="in the law") as raised:
        usrdccp.Scenario.parse(text(("mine",)), {"mine": Broken}).run()
    names = [entry.name for entry in raised.traceback]
    assert "on_ack" in names, "the traceback leads into the law"
    with pytest.raises(ValueError, match="law mine: a window of NaN packets"):
        usrdccp.Scenario.parse(text(("mine",)), {"mine": Endless}).run()
    with pytest.raises(TypeError, match="law mine: Stranger is not derived from usrdccp.Law"):
        usrdccp.Scenario.parse(text(("mine",)), {"mine": Stranger}).run()  # type: ignore[dict-item]


def test_law_that_is_not_given_is_a_mistake_with_its_place(text: Text) -> None:
    with pytest.raises(usrdccp.ScenarioError) as raised:
        usrdccp.Scenario.parse(text(("halvin",)), LAWS)
    (mistake,) = raised.value.mistakes
    assert mistake.what == "halvin: there is no such law"
    assert (mistake.line, mistake.next) == (15, "did you mean halving?")
    with pytest.raises(ValueError, match="reno: there is a law with this name"):
        usrdccp.Scenario.parse(text(), {"reno": Halving})


def test_key_of_a_cell_depends_on_the_code_of_the_law(text: Text) -> None:
    def key(law: type[usrdccp.Law]) -> str:
        return usrdccp.Scenario.parse(text(("mine",)), {"mine": law}).cells[0].key

    assert key(Halving) == key(Halving) != key(Timid)


def test_window_answers_as_in_rust() -> None:
    window = usrdccp.Window(40.0)
    assert window.is_slow_start and window.ssthresh == float("inf")
    window.reduce_to(1.5)
    assert (window.cwnd, window.ssthresh) == (1.5, 2.0)
    window.collapse(20.0)
    assert (window.cwnd, window.ssthresh, window.is_slow_start) == (1.0, 20.0, True)
    window.leave_slow_start()
    assert repr(window) == "Window(cwnd=1, ssthresh=1)"
