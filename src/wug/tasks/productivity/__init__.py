"""Are longer and deeper problems solved than those of the training data?"""
