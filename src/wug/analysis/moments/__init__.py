"""Mean and variance of what arithmetic layers make of random weights, and how exact they are."""
