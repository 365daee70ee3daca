import ast
import unittest

from source import TREE

TEXTS = [each.value for each in ast.walk(TREE) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def raised(words):
    told = [ast.unparse(each) for each in ast.walk(TREE) if isinstance(each, ast.Raise)]
    return sum(words in each for each in told)


class Once(unittest.TestCase):
    def test_the_count_is_checked_in_one_place(self):
        self.assertEqual(raised("at least one must be ordered"), 1)

    def test_the_layout_of_a_line_stands_in_one_place(self):
        self.assertLessEqual(sum("8.2f" in text for text in TEXTS), 1)

    def test_the_discount_for_many_is_worked_out_in_one_place(self):
        fives = [each for each in ast.walk(TREE) if isinstance(each, ast.Constant) and each.value == 5]
        self.assertLessEqual(len(fives), 1)


if __name__ == "__main__":
    unittest.main()
