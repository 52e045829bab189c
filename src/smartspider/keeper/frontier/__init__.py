"""The leader's duties about a frontier apart from the store.

Read `arming.py`, then `controls.py`, `filling.py`, `sweeping.py`, `loads.py` and `resting.py`; `watch.py` is
shared.
"""
