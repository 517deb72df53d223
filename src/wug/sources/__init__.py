"""Where examples come from: data sets in files, and text as a stream of bytes."""
