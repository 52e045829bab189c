"""The keeper: the coordinator process of an installation. One keeper leads and performs the duties. Read
`keeper.py`, then `duties.py`, the list of duties.
"""
