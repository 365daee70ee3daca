python3 tests/check.py
