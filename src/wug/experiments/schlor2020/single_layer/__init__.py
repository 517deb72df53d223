"""One layer, one operation, 2 or 10 inputs, many distributions: experiments 1 and 3."""
