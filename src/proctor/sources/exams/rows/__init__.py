"""Rows in their normal form, whoever published them."""
