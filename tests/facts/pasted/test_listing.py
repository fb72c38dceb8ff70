import pytest

from envdoctor.facts.pasted import read
from tests.facts.pasted.reading import driver, gpus, host, interpreter, torch


def test_a_person_lists_the_machine() -> None:
    text = "Windows 11, 2x RTX 4090, driver 551.61\nPython 3.11, torch 2.2.1, cuDNN 8902\n"
    assert (host(text).system, driver(text).kernel_module) == ("Windows", "551.61")
    assert (gpus(text).devices[0].name, gpus(text).count) == ("RTX 4090", 2)
    assert (interpreter(text).version, torch(text).version, torch(text).cudnn) == ("3.11", "2.2.1", "8.9.2")


@pytest.mark.parametrize(
    "text",
    [
        "It works on my RTX 3090, but the new card, which I bought last week, gives errors\n",
        "I tried A100, then gave up, because it was slow, and so on\n",
    ],
)
def test_prose_is_no_listing(text: str) -> None:
    assert type(read(text + "error: it failed\n").gpus).__name__ == "Unavailable"


def test_what_a_report_states_wins() -> None:
    assert driver("Nvidia driver version: 535.104.05\nRTX 4090, driver 551.61, Linux\n").kernel_module == "535.104.05"
