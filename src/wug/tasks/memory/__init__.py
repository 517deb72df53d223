"""Is what was seen kept, found again and let go, over more steps than in training?"""
