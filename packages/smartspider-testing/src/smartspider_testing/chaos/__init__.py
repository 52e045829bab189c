"""Fault injection on a disposable cluster: checks that no item is lost or stored twice and no delay is
shortened.
"""
