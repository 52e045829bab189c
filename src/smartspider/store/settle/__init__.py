"""Settling: applying the verdicts on leased requests in one transaction."""
