import ast
import unittest

from source import TREE, functions, lines


class Length(unittest.TestCase):
    def test_bill_is_a_function_with_the_arguments_that_it_had(self):
        found = [each for each in TREE.body if isinstance(each, ast.FunctionDef) and each.name == "bill"]
        self.assertEqual(len(found), 1)
        self.assertEqual(ast.unparse(found[0].args), "order, *, guests=1, member=False, tip=0")

    def test_no_function_is_longer_than_15_lines(self):
        long = {getattr(each, "name", "lambda"): lines(each) for each in functions() if lines(each) > 15}
        self.assertEqual(long, {})

    def test_nothing_is_hidden_outside_of_functions(self):
        loose = [each for each in TREE.body if isinstance(each, (ast.For, ast.While, ast.If, ast.Try, ast.With))]
        self.assertEqual([ast.unparse(each) for each in loose], [])


if __name__ == "__main__":
    unittest.main()
