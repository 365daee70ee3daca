import unittest

from pages import MANUAL, REPO, anchors, links


class Links(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        for page in REPO.rglob("*.md"):
            for link in links(page):
                with self.subTest(page=page.name, link=link):
                    self.assertNotIn("://", link, "the manual needs no network")
                    path, _, anchor = link.partition("#")
                    target = (page.parent / path).resolve() if path else page
                    self.assertTrue(target.is_file())
                    if anchor:
                        self.assertIn(anchor, anchors(target))

    def test_manual_changes_and_readme_know_each_other(self):
        self.assertIn("changes.md", [link.partition("#")[0] for link in links(MANUAL)])
        self.assertIn("docs/manual.md", [link.partition("#")[0] for link in links(REPO / "README.md")])


if __name__ == "__main__":
    unittest.main()
