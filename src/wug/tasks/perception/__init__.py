"""Does a network that sees pictures compute with what is on them, beyond its training?"""
