"""Protocols between technologies. Their docstrings number the promises; the contract
suites test each number.
"""
