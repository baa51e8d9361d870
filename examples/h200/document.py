"""A report of texts, tables and charts, as Markdown and as one HTML file without scripts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from typing import List, Sequence, Union

STYLE = """
:root{color-scheme:light dark;--text:#1c1e21;--page:#fff;--soft:#667085;--line:#d7dbe0;--a:#0b62c4;--b:#b25000;--c:#17803d;--mark:#8a8f98}
@media (prefers-color-scheme:dark){:root{--text:#e6e8eb;--page:#15181c;--soft:#9aa4b2;--line:#363c44;--a:#7fb2f5;--b:#f2a65a;--c:#5fd08a;--mark:#7b828c}}
body{margin:0 auto;max-width:74rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:var(--text);background:var(--page)}
h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.25rem;margin-top:2.2rem}h3{font-size:1rem;margin:1.4rem 0 .4rem}
p,li{max-width:46rem;overflow-wrap:anywhere}code{font-size:.9em}
.table{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}th{color:var(--soft);font-weight:600}
td.n,th.n{text-align:right;white-space:nowrap}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr));gap:.8rem}
svg{width:100%;height:auto;display:block}text{font:10px system-ui,sans-serif;fill:var(--soft)}text.title{font-size:11px;fill:var(--text)}text.y{text-anchor:end}
polyline{fill:none;stroke-width:1.5}.a{stroke:var(--a)}.b{stroke:var(--b);stroke-dasharray:5 3}.c{stroke:var(--c);stroke-dasharray:2 2}
.dot{fill:currentColor}.grid{stroke:var(--line);stroke-width:.6}.mark{stroke:var(--mark);stroke-width:.8}
.key b{font-weight:600}.key .a,.key .b,.key .c{stroke:none}.key .ka{color:var(--a)}.key .kb{color:var(--b)}.key .kc{color:var(--c)}
"""


@dataclass
class Text:
    """A paragraph; `code` and **strong** as in Markdown."""

    words: str


@dataclass
class Key:
    """What the three kinds of lines in the charts below mean."""

    a: str
    b: str
    c: str


@dataclass
class Items:
    """A list."""

    lines: Sequence[str]


@dataclass
class Table:
    """Columns whose cells are numbers stand to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Charts:
    """SVG; the Markdown says that they are in the other file."""

    pictures: Sequence[str]


Block = Union[Text, Key, Items, Table, Charts]


@dataclass
class Document:
    """Blocks under headings."""

    title: str
    sections: List["Section"] = field(default_factory=list)

    def section(self, title: str, level: int = 2) -> "Section":
        """A new one at the end."""
        self.sections.append(Section(title, level))
        return self.sections[-1]

    def markdown(self) -> str:
        """For reading where there is no browser."""
        parts = [f"# {self.title}"]
        for section in self.sections:
            parts.append(f"{'#' * section.level} {section.title}")
            parts += [_markdown(block) for block in section.blocks]
        return "\n\n".join(part for part in parts if part) + "\n"

    def html(self) -> str:
        """One file that needs no other."""
        parts = [f"<h1>{escape(self.title)}</h1>"]
        for section in self.sections:
            parts.append(f"<h{section.level}>{escape(section.title)}</h{section.level}>")
            parts += [_html(block) for block in section.blocks]
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>{escape(self.title)}</title>'
        return (
            f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>\n'
            + "\n".join(parts)
            + "\n</body></html>\n"
        )


@dataclass
class Section:
    """A heading with what stands under it."""

    title: str
    level: int
    blocks: List[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        """At the end."""
        self.blocks += blocks


def _markdown(block: Block) -> str:
    if isinstance(block, Text):
        return block.words
    if isinstance(block, Items):
        return "\n".join(f"- {line}" for line in block.lines)
    if isinstance(block, Table):
        rows = [block.head, ["--:" if right else "---" for right in _to_the_right(block)], *block.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    if isinstance(block, Charts) and block.pictures:
        return f"({len(block.pictures)} charts: see `report.html`.)"
    return ""


def _html(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{_inline(block.words)}</p>"
    if isinstance(block, Key):
        words = [
            f'<b class="k{name}">{line}</b> {escape(getattr(block, name))}'
            for name, line in zip("abc", ("——", "– –", "····"))
        ]
        return f'<p class="key">{"; ".join(words)}</p>'
    if isinstance(block, Items):
        return "<ul>" + "".join(f"<li>{_inline(line)}</li>" for line in block.lines) + "</ul>"
    if isinstance(block, Charts):
        return '<div class="charts">' + "\n".join(block.pictures) + "</div>"
    right = [' class="n"' if is_number else "" for is_number in _to_the_right(block)]
    head = "".join(f"<th{place}>{escape(cell)}</th>" for place, cell in zip(right, block.head))
    rows = (
        "<tr>" + "".join(f"<td{place}>{_inline(cell)}</td>" for place, cell in zip(right, row)) + "</tr>"
        for row in block.rows
    )
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _to_the_right(table: Table) -> List[bool]:
    columns = zip(*table.rows) if table.rows else ([] for _ in table.head)
    return [all(re.match(r"^[-+]?[\d.,]|^·", cell) for cell in column) for column in columns]


def _inline(words: str) -> str:
    marked = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(words, quote=False))
    return re.sub(r"\*\*([^*]*)\*\*", r"<strong>\1</strong>", marked)
