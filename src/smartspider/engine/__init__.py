"""The worker: leases requests, fetches and reads pages, and settles the verdicts. Read `processor.py`, then
`worker.py`.
"""
