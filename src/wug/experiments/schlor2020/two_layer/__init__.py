"""Two layers on sums of random subsets of a hundred inputs: experiment 5."""
