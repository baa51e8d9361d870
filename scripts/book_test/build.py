"""Builds the book as HTML, a file for each page of SUMMARY.md, and checks every link and picture of what was built.

`mdbook build docs` makes the book that people read; this one needs nothing but markdown-it-py, so that every machine
that runs the tests builds the book.
"""

import shutil
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from documents import BOOK, anchor, text_of
from markdown_it import MarkdownIt

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} - OEF</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }}
pre {{ overflow-x: auto; background: #f4f5f7; padding: .6rem }} img {{ max-width: 100% }}
td, th {{ padding: .2rem .6rem; text-align: left; vertical-align: top }}</style></head>
<body><nav>{navigation}</nav><main>{body}</main></body></html>
"""


def render(path: Path) -> tuple[str, str]:
    """Title and HTML of a page: headings have ids, and links to pages lead to their HTML."""
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(path.read_text())
    seen: dict[str, int] = {}
    title = path.stem
    for token, following in zip(tokens, [*tokens[1:], None]):
        if token.type == "heading_open" and following is not None:
            text = "".join(text_of(following))
            title = text if token.tag == "h1" else title
            token.attrSet("id", anchor(text, seen))
        for child in token.children or []:
            target = urlsplit(str(child.attrs.get("href", "")))
            if child.type == "link_open" and not target.scheme and target.path.endswith(".md"):
                mark = f"#{target.fragment}" if target.fragment else ""
                child.attrSet("href", target.path.removesuffix(".md") + ".html" + mark)
    return title, parser.renderer.render(tokens, parser.options, {})


class Parts(HTMLParser):
    """The ids and addresses of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: set[str] = set()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given["id"]} if given.get("id") else set()
        self.addresses += [given[name] for name in ("href", "src") if given.get(name)]


def main(out: Path) -> int:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    _, navigation = render(BOOK / "SUMMARY.md")
    pages = sorted(path for path in BOOK.glob("*.md") if path.name != "SUMMARY.md")
    for path in pages:
        title, body = render(path)
        html = PAGE.format(title=escape(title), navigation=navigation, body=body)
        (out / f"{path.stem}.html").write_text(html)
    for picture in [path for path in BOOK.iterdir() if path.suffix in (".png", ".svg")]:
        shutil.copy(picture, out)
    built = {path.name: Parts(path.read_text()) for path in out.glob("*.html")}
    wrong, links = [], 0
    for name, parts in sorted(built.items()):
        for address in parts.addresses:
            target = urlsplit(address)
            if target.scheme:
                continue
            links += 1
            file, mark = unquote(target.path) or name, unquote(target.fragment)
            if not (out / file).is_file():
                wrong.append(f"{name}: {address}: no such file in the built book")
            elif mark and mark not in built[file].ids:
                wrong.append(f"{name}: {address}: no such heading in the built book")
    print("\n".join(wrong) + ("\n" if wrong else "") + f"built {len(built)} pages with {links} links: {len(wrong)} wrong")
    return 1 if wrong or not built else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
