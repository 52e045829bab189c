"""Notifications: messages about runs and the store, sent to targets through channels."""
