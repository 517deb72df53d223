"""Tables of our own: networks of several papers on tasks that none of them has."""
