"""Keep freed memory: a step that frees and takes the same large arrays again need not wait for it.

glibc gives large pieces back to the system when they are freed, and gets them again page by page,
each filled with zeros. For a training step of large arrays that can be half of its time.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

# Of glibc's malloc.h: when memory at the end is given back, and what is taken apart from the rest.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
# Older versions take no larger piece than the second.
LARGEST_PIECES, NEVER = (2**31 - 1, 32 * 1024**2), 2**31 - 1


@lru_cache(maxsize=1)
def keep_freed_memory() -> bool:
    """Ask the C library to keep what this process frees, for its next use; say whether it does."""
    try:
        library = ctypes.CDLL(None)
        kept = any(library.mallopt(MMAP_THRESHOLD, size) == 1 for size in LARGEST_PIECES)
        return kept and library.mallopt(TRIM_THRESHOLD, NEVER) == 1
    except (OSError, AttributeError, TypeError):
        return False  # another C library: freed memory is its own affair
