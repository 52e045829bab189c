"""The leader's duties about a remote frontier.

Read `arming.py`, then `controls.py`, `filling.py`, `loads.py` and `hosts.py`; all share `state.py`.
"""
