"""The part of the package that is written in Rust."""

from collections.abc import Callable, Sequence
from typing import Literal, final

@final
class Cell:
    """A cell: one combination of variables, in one phase, with one seed."""

    @property
    def key(self) -> str:
        """Hash of everything that can change the result: 64 hexadecimal digits."""
    @property
    def label(self) -> str:
        """The name in tables: the values of the variables, the phase, and the repetition."""
    @property
    def variables(self) -> dict[str, str]:
        """The variables of the matrix and their values."""
    @property
    def drawn(self) -> dict[str, str]:
        """The variables that this repetition has drawn, and their values."""
    @property
    def phase(self) -> str | None:
        """The phase, and the flow that is alone in it: `baseline/path1`."""
    @property
    def repeat(self) -> int:
        """The number of the repetition, from 0."""
    @property
    def seed(self) -> int:
        """The seed of the run."""
    @property
    def duration_s(self) -> float:
        """Simulated time in seconds."""

@final
class Window:
    """The state that a law controls. The simulator keeps the window between 1 packet and the largest one."""

    cwnd: float
    """Congestion window in packets."""
    ssthresh: float
    """Slow-start threshold in packets; infinite until the first event."""

    def __init__(self, cwnd: float, ssthresh: float = ...) -> None: ...
    @property
    def is_slow_start(self) -> bool:
        """True while the window grows by slow start."""
    def leave_slow_start(self) -> None:
        """Ends slow start at the current window."""
    def reduce_to(self, packets: float) -> None:
        """Answers a congestion event: the window becomes `packets`, and slow start is over."""
    def collapse(self, ssthresh: float) -> None:
        """Answers a timeout: one packet, and slow start up to `ssthresh`."""

@final
class Ack:
    """An acknowledgement. Times are in nanoseconds, `now_ns` since the start of the run."""

    @property
    def now_ns(self) -> int:
        """When it arrived."""
    @property
    def acked(self) -> int:
        """Newly acknowledged unmarked data packets."""
    @property
    def growth(self) -> int:
        """The part of `acked` that may make the window grow: 0 in slow start, and 0 unless the window was the limit."""
    @property
    def marked(self) -> int:
        """Newly acknowledged data packets that were marked."""
    @property
    def lost(self) -> int:
        """Data packets newly found lost."""
    @property
    def is_clean(self) -> bool:
        """The acknowledgement reports neither loss nor mark."""
    @property
    def is_recovering(self) -> bool:
        """Packets that were sent before the last congestion event was detected are still in flight."""
    @property
    def rtt_ns(self) -> int | None:
        """A round-trip sample."""
    @property
    def smoothed_rtt_ns(self) -> int | None:
        """The smoothed round-trip time."""
    @property
    def one_way_ns(self) -> int | None:
        """The one-way delay plus an unknown constant, if the law has `wants_one_way`."""
    @property
    def delivered_rate(self) -> float | None:
        """The delivery rate in packets per second, if the law has `wants_delivered_rate`."""
    @property
    def is_app_limited(self) -> bool:
        """The application was the limit while `delivered_rate` was measured."""
    @property
    def flight(self) -> int:
        """Data packets in flight before this acknowledgement."""
    @property
    def pipe(self) -> int:
        """Data packets still in flight."""
    @property
    def round(self) -> int:
        """Round trips since the start."""

@final
class Congestion:
    """A congestion event; there is at most one per round trip."""

    @property
    def now_ns(self) -> int:
        """When it was detected, in nanoseconds since the start of the run."""
    @property
    def cause(self) -> Literal["loss", "mark"]:
        """The sign that started the event."""
    @property
    def packets(self) -> int:
        """The number of packets that were lost or marked at once."""
    @property
    def flight(self) -> int:
        """Data packets in flight before these packets were subtracted."""
    @property
    def pipe(self) -> int:
        """Data packets in flight after the subtraction."""

@final
class Scenario:
    @staticmethod
    def parse(
        text: bytes, file: str, laws: Sequence[tuple[str, Callable[[], object], str]], quick: bool
    ) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    @property
    def seed(self) -> int: ...
    def cells(self) -> list[Cell]: ...
    def chosen(self, names: Sequence[str]) -> list[int]: ...
    def play(
        self,
        numbers: Sequence[int],
        jobs: int | None,
        tell: Callable[[float, int, int], object] | None,
    ) -> Results: ...
    def results(self, cells: Sequence[str]) -> Results: ...

@final
class Results:
    def __len__(self) -> int: ...
    @property
    def program_hash(self) -> str: ...
    def heads(self) -> list[tuple[str, str, str | None]]: ...
    def cell_json(self, n: int) -> str: ...
    def json(self, argv: Sequence[str]) -> str: ...
    def table(self) -> tuple[str, bytes]: ...
    def series(self, n: int) -> tuple[str, bytes]: ...
