"""Speed and quality of packing, measured against a floor and peers in one run: `python -m
tests.benchmarks`.
"""
