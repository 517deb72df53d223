"""Memory that is kept."""

import platform

from wug.core.freed_memory import keep_freed_memory


def test_glibc_agrees():
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
