"""The keeper: one leads and does the house's duties. Read `keeper.py`, then `duties.py`, the list of them."""
