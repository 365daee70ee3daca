import unittest

from bill import bill

SOUP = {"kind": "food", "name": "Soup", "price": 450}
WINE = {"kind": "drink", "name": "Wine", "price": 600, "count": 2}


class Bill(unittest.TestCase):
    def test_food_comes_before_drinks(self):
        names = [line.split()[0] for line in bill([WINE, SOUP]).splitlines()]
        self.assertEqual(names, ["Soup", "Wine", "Tax", "Tax", "Total"])

    def test_the_total_has_both_taxes(self):
        self.assertTrue(bill([SOUP, WINE]).endswith(f"{'Total':<20}{19.09:>8.2f}"))

    def test_a_share_is_rounded_up(self):
        self.assertTrue(bill([SOUP], guests=2).endswith(f"{'Each of 2':<20}{2.41:>8.2f}"))


if __name__ == "__main__":
    unittest.main()
