"""Does the rule hold outside the range of the training data?"""
