"""Tasks; the folder of a task states the claim that it tests."""
