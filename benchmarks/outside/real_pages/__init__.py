"""Saved list pages of real sites, with labels by people: is the first answer of `suggest` the right one?"""
