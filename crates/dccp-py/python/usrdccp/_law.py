"""Laws in Python: rules for the growth and reduction of a congestion window."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from usrdccp._native import Ack, Congestion, Window


class Law:
    """A rule for the window of CCID 2 or TCP, with the methods of the trait `Law` in Rust.

    Derive a class and write at least `on_ack`. Each connection makes an object of it, without arguments. Slow start,
    the detection of losses and round-trip samples are not the law's. An exception in a method ends the run.

    A law must be deterministic: it may use its own state, its arguments and nothing else. Otherwise results cannot be
    repeated.
    """

    wants_delivered_rate: bool = False
    """Measure `Ack.delivered_rate` and `Ack.is_app_limited`."""

    wants_one_way: bool = False
    """Measure `Ack.one_way_ns`."""

    def on_start(self, window: Window) -> None:
        """Handles the start of sending. A law may set another initial window here, or skip slow start."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        """Handles an acknowledgement. A law grows the window here, by `ack.growth`."""
        raise NotImplementedError(f"{type(self).__name__} has no method on_ack")

    def on_congestion(self, window: Window, event: Congestion) -> None:
        """Handles the start of a congestion event. Without a method, the window is halved."""
        window.reduce_to(max(window.cwnd / 2, 2.0))

    def on_timeout(self, window: Window, now_ns: int) -> None:
        """Handles a timeout. Without a method, slow start begins again, up to half of the window."""
        window.collapse(window.cwnd / 2)

    def on_host_drop(self, window: Window, packets: int) -> None:
        """Handles packets that the peer's host dropped for lack of buffers: the window shrinks by as many."""
        window.cwnd = max(window.cwnd - packets, 1.0)
        window.leave_slow_start()

    def on_idle(self, now_ns: int, idle_ns: int) -> None:
        """Handles the restart of sending after a time without data. The window was already reduced for it."""

    def is_holding(self, window: Window, now_ns: int) -> bool:
        """Returns true while the window must not grow, not even by slow start."""
        return False

    def pacing_rate(self) -> float | None:
        """Returns the greatest rate in packets per second, if the law sets a rate beside the window."""
        return None


Laws = Mapping[str, Callable[[], Law]]


def code_of(make: Callable[[], Law]) -> str:
    """A text that names the code of a law: keys of cells depend on it."""
    name = f"{getattr(make, '__module__', '')}.{getattr(make, '__qualname__', repr(make))}"
    try:
        source = inspect.getsource(make)
    except (OSError, TypeError):
        # A class from a console without a history, or an object that can be called.
        return name
    return f"{name} {hashlib.sha256(source.encode()).hexdigest()}"
