"""How well is running text predicted, token by token?"""
