"""Benchmarks: `python -m benchmarks`. Nothing here is a test; every figure is a median with its
spread, ratios in one run.
"""
