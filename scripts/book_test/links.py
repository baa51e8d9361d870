"""Every page is in the summary, and every link leads somewhere. Addresses outside are checked for their form only."""

import sys
from urllib.parse import urlsplit

from documents import BOOK, ROOT, Document, documents


def main() -> int:
    known = {document.path: document for document in documents()}
    wrong = [fault for document in known.values() for fault in faults(document, known)]
    wrong += summary(known)
    for line in wrong:
        print(line)
    links = sum(len(document.links) for document in known.values())
    print(f"{len(known)} documents with {links} links: {len(wrong)} wrong")
    return 1 if wrong else 0


def faults(document: Document, known: dict) -> list[str]:
    found = []
    for line, address in document.links:
        parts = urlsplit(address)
        where = f"{document.name}:{line}: {address}"
        if parts.scheme in ("http", "https"):
            if "." not in parts.netloc or " " in address:
                found.append(f"{where}: is no address")
            continue
        if parts.scheme or parts.netloc:
            found.append(f"{where}: write a path, or https://")
            continue
        target = (document.path.parent / parts.path).resolve() if parts.path else document.path
        if not target.exists():
            found.append(f"{where}: there is no such file")
        elif document.path.parent == BOOK and not target.is_relative_to(BOOK):
            found.append(f"{where}: lies outside of the book, so the built book does not have it")
        elif parts.fragment and target in known and parts.fragment not in known[target].anchors:
            found.append(f"{where}: the page has no such heading")
    return found


def summary(known: dict) -> list[str]:
    contents = known[BOOK / "SUMMARY.md"]
    listed = [address for _, address in contents.links]
    pages = {path.name for path in BOOK.glob("*.md")} - {"SUMMARY.md"}
    wrong = [f"{page} is not in docs/src/SUMMARY.md" for page in sorted(pages - set(listed))]
    wrong += [f"{page} is in docs/src/SUMMARY.md twice" for page in sorted(set(listed)) if listed.count(page) > 1]
    pictures = {path.name for path in BOOK.iterdir() if path.suffix in (".png", ".svg")}
    used = {(document.path.parent / a).resolve().name for document in known.values() for _, a in document.links}
    return wrong + [f"{ROOT.name}: docs/src/{name} is shown nowhere" for name in sorted(pictures - used)]


if __name__ == "__main__":
    sys.exit(main())
