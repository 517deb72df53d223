"""Where examples come from: finite sets, generated streams, files."""
