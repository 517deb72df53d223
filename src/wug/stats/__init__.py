"""Intervals and summaries over records; import the file that you need, e.g. `wug.stats.wilson`."""
