import unittest

from slugs import slug


class Example(unittest.TestCase):
    def test_a_title_of_two_words(self):
        self.assertEqual(slug("Hello World"), "hello-world")
