import itertools
import unittest

from asked import asked
from before import bill

SOUP = {"kind": "food", "name": "Soup", "price": 450}
ROLLS = {"kind": "food", "name": "Rolls", "price": 85, "count": 12}
WINE = {"kind": "drink", "name": "Wine", "price": 600, "count": 2}
WATER = {"kind": "drink", "name": "Water", "price": 199, "count": 10}
FREE = {"kind": "food", "name": "Bread", "price": 0}
ORDERS = ([], [SOUP], [WINE, SOUP], [ROLLS, WATER], [FREE], [WATER, FREE, ROLLS, SOUP, WINE])
SETTINGS = [dict(zip(("guests", "member", "tip"), each)) for each in itertools.product((1, 3), (False, True), (0, 10))]
WRONG = ([{**SOUP, "count": 0}], [{**WINE, "kind": "smoke"}, {**SOUP, "count": 0}], [{**SOUP, "kind": "smoke"}])


def outcome(order, settings):
    try:
        return bill(order, **settings)
    except ValueError as error:
        return f"ValueError: {error}"


class Same(unittest.TestCase):
    def test_every_order_is_answered_as_it_was(self):
        cases = [(order, settings) for order in (*ORDERS, *WRONG) for settings in SETTINGS]
        found = asked(cases)
        for (order, settings), answer in zip(cases, found):
            with self.subTest(order=order, **settings):
                self.assertEqual(answer, outcome(order, settings))


if __name__ == "__main__":
    unittest.main()
