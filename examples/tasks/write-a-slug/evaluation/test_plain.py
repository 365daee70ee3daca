import unittest

from asked import slugs_of

# Words are joined by hyphens, digits stay, runs of marks become one hyphen.
CASES = {
    "Hello World": "hello-world",
    "Three small steps": "three-small-steps",
    "7 of 9": "7-of-9",
    "  a -- b, c!  ": "a-b-c",
}


class Plain(unittest.TestCase):
    def test_titles_of_plain_letters_become_slugs(self):
        self.assertEqual(dict(zip(CASES, slugs_of(*([title] for title in CASES)))), CASES)


if __name__ == "__main__":
    unittest.main()
