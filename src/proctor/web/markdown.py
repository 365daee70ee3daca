"""Model output as Markdown: rendered without HTML and without pictures, then cleaned once more."""

from __future__ import annotations

from functools import cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])


def markdown(text: str) -> Markup:
    """Safe HTML. Links are shown as text: what a model says is no recommendation to go there.

    >>> markdown("**a** <b>b</b> [c](javascript:alert(1)) ![d](http://x/y.png)")
    Markup('<p><strong>a</strong> &lt;b&gt;b&lt;/b&gt; [c](javascript:alert(1)) </p>\\n')
    """
    # The second pass trusts nothing of the first: only these tags, and not one attribute.
    return Markup(nh3.clean(_parser().render(text), tags=TAGS, attributes={}))
