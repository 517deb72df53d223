"""Kinds of page: one file each, found by the site. `PAGE` says what a page is made from."""
