"""The least element of a list and the count of a number, on longer sequences."""
