"""Titles as parts of addresses."""


def slug(title, longest=40):
    raise NotImplementedError
