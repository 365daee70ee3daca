"""The pages of the repository as text: headings, sections, tables, links, fenced blocks."""

import re
from pathlib import Path

REPO = Path("/app/repo")
MANUAL = REPO / "docs/manual.md"
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)")


def prose(page):
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def blocks(page):
    return FENCE.findall(page.read_text(encoding="utf-8"))


def anchors(page):
    """The names by which headings can be linked to."""
    titles = re.findall(r"^#{1,6} +(.+?) *#*$", prose(page), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles]


def section(page, title):
    found = re.search(rf"^## +{re.escape(title)} *$(.*?)(?=^## |\Z)", prose(page), re.MULTILINE | re.DOTALL | re.I)
    return found[1] if found else ""


def rows(text):
    """The rows of the tables in a text, without heads and rules, as lists of cells."""
    lines = [line.strip().strip("|") for line in text.splitlines() if line.strip().startswith("|")]
    split = [[cell.strip() for cell in line.split("|")] for line in lines]
    rules = [place for place, cells in enumerate(split) if all(re.fullmatch(r":?-+:?", cell) for cell in cells)]
    heads = {place - 1 for place in rules} | set(rules)
    return [cells for place, cells in enumerate(split) if place not in heads]


def links(page):
    return LINK.findall(prose(page))
