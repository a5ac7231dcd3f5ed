"""Scenarios for the tests."""

from collections.abc import Callable

import pytest

TEXT = """
schema = "dccplab/1"
name = "small"
seed = 5
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "4Mbit"
delay = "10ms"
queue = "bdp*1"
loss = "0.1%"
[matrix]
law = LAWS
[[flow]]
id = "load"
from = "a"
to = "b"
transport = "TRANSPORT"
cc = "${law}"
[[flow]]
id = "ping"
kind = "ping"
from = "a"
to = "b"
[measure]
duration = "DURATION"
repeat = REPEAT
"""

Text = Callable[..., str]


@pytest.fixture
def text() -> Text:
    """Makes the text of a scenario with two flows in each cell."""

    def of(
        laws: tuple[str, ...] = ("reno", "cubic"),
        duration: str = "3s",
        repeat: int = 1,
        transport: str = "dccp/ccid2",
    ) -> str:
        values = "[" + ", ".join(f'"{law}"' for law in laws) + "]"
        filled = TEXT.replace("LAWS", values).replace("DURATION", duration)
        return filled.replace("REPEAT", str(repeat)).replace("TRANSPORT", transport)

    return of
