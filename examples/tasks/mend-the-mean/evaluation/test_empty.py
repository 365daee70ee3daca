import unittest

from asked import asked


class Empty(unittest.TestCase):
    def test_the_mean_of_nothing_is_none(self):
        self.assertIsNone(asked("figures", "mean", []))

    def test_a_report_of_nothing_has_a_dash(self):
        self.assertEqual(asked("report", "line", []), "0 numbers, mean -")


if __name__ == "__main__":
    unittest.main()
