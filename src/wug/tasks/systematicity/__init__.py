"""Are known parts put together in ways that the training data never showed?"""
