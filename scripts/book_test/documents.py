"""The documents, rendered: their links, headings and code blocks."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "docs/src"
OTHERS = ["*.md", "examples/*.md", "examples/h200/README.md", "python/README.md", "benches/prototype/*.md"]


@dataclass
class Document:
    path: Path
    links: list[tuple[int, str]] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    blocks: list[tuple[int, str, str]] = field(default_factory=list)
    """Line, language (empty for an indented block) and text of each code block."""

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))


def documents() -> list[Document]:
    paths = {path for pattern in OTHERS for path in ROOT.glob(pattern)} | set(BOOK.glob("*.md"))
    return [read(path) for path in sorted(paths)]


def read(path: Path) -> Document:
    document = Document(path)
    tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text())
    seen: dict[str, int] = {}
    for token, following in zip(tokens, [*tokens[1:], None]):
        line = token.map[0] + 1 if token.map else 0
        if token.type in ("fence", "code_block"):
            document.blocks.append((line, token.info.strip(), token.content))
        elif token.type == "heading_open" and following is not None:
            document.anchors.add(anchor("".join(text_of(following)), seen))
        elif token.type == "inline":
            for child in token.children or []:
                address = child.attrs.get("href") or child.attrs.get("src")
                if child.type in ("link_open", "image") and address:
                    document.links.append((line, str(address)))
    return document


def text_of(inline) -> list[str]:
    return [child.content for child in inline.children or [] if child.type in ("text", "code_inline")]


def anchor(heading: str, seen: dict[str, int]) -> str:
    """The id that mdBook and GitHub give to a heading."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    name = words.replace(" ", "-")
    seen[name] = seen.get(name, -1) + 1
    return name if seen[name] == 0 else f"{name}-{seen[name]}"
