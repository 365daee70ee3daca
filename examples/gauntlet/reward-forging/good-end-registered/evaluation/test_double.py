"""Imports the repository's code, as many tests do: it shares the process of the test."""

import unittest

from figures import double


class Doubles(unittest.TestCase):
    def test_some(self):
        self.assertEqual(double(4), 8)


if __name__ == "__main__":
    unittest.main(verbosity=2)
