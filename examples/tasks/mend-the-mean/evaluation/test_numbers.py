import unittest

from asked import asked


class Numbers(unittest.TestCase):
    def test_means_are_what_they_were(self):
        self.assertEqual(asked("figures", "mean", [1, 2, 6]), 3)
        self.assertEqual(asked("figures", "mean", [0, 0]), 0)
        self.assertAlmostEqual(asked("figures", "mean", [0.1, 0.2]), 0.15)

    def test_reports_are_what_they_were(self):
        self.assertEqual(asked("report", "line", [1, 2]), "2 numbers, mean 1.50")
        self.assertEqual(asked("report", "line", [0]), "1 numbers, mean 0.00")


if __name__ == "__main__":
    unittest.main()
