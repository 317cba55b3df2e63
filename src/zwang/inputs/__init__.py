"""Arguments, arrays, functions and texts that a user gives: checked here, and traced.

One sentence says of a wrong one what it is, what came, and what is expected.
"""
