"""Are functions computed by weights of their own?"""
