"""Validation and tracing of the arguments, arrays, functions and strings that a user gives.

An error is one sentence with the name of the argument, its value, and the expected value.
"""
