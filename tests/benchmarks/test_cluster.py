"""What the benchmark of Ray says of its runs, and how processor time is counted."""

import subprocess
import sys
import time

import pytest
from cluster import Took, compare
from processor_time import ProcessorTime


def test_medians_are_compared_and_the_start_is_said_apart() -> None:
    local = [Took(seconds=s, processor=2 * s) for s in (100.0, 110.0, 99.0)]
    ray = [Took(seconds=s, processor=2 * s + 4) for s in (105.0, 111.0, 104.0)]
    text, slower = compare(local, ray, Took(seconds=3.0, processor=4.0))
    assert slower == pytest.approx(0.05)
    assert text.splitlines() == [
        "a run of 100 s: 105 s with Ray, +5.0 % (medians of 3, in turn: +5.0 %, +0.9 %, +5.1 %)",
        "of it 3.0 s to start and end a cluster; without that +2.0 %",
        "processor time of all processes: 200 s, 214 s with Ray, +7.0 %; of it 4.0 s to start and "
        "end a cluster; without that +5.0 %",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_processes_that_nobody_waits_for_count() -> None:
    """One that works for half a second, started by one that waits for it and is not waited for."""
    busy = "import time\nwhile time.process_time() < 0.5: pass\ntime.sleep(60)"
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    with ProcessorTime() as taken:
        process = subprocess.Popen([sys.executable, "-c", start], start_new_session=True)
        until = time.monotonic() + 60
        while time.monotonic() < until and sum(taken._taken.values()) - taken._before < 0.5:
            time.sleep(0.1)
    subprocess.run(["kill", "--", f"-{process.pid}"], check=True)
    process.wait()
    assert taken.seconds >= 0.5
    with ProcessorTime() as idle:
        time.sleep(0.1)
    assert idle.seconds < taken.seconds
