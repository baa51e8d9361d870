"""Pages that are watched: errors in the console, axe, and the width of the page."""

import time
from pathlib import Path

import axe_playwright_python

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
# Best practices that are a matter of taste are left out; everything of WCAG 2.2 AA counts.
RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
         "rules": {"region": {"enabled": False}}}


class Checks:
    """What went wrong, and what was measured."""

    def __init__(self, out):
        self.out = out
        self.faults = []
        self.done = 0
        self.figures = []

    def ok(self, what, holds, detail=""):
        self.done += 1
        if not holds:
            self.faults.append(f"{what}: {detail}")
            print(f"FAIL {what}: {detail}"[:600], flush=True)

    def figure(self, name, value):
        self.figures.append((name, value))
        print(f"     {name}: {value}", flush=True)

    def close(self, seconds):
        print(f"{self.done} checks of the page, {len(self.faults)} faults, {seconds:.0f} s; pictures in {self.out}")
        # What scripts/test.sh counts.
        print(f"test result: page. {self.done - len(self.faults)} passed; {len(self.faults)} failed; 0 ignored")
        return 1 if self.faults else 0


def open_page(browser, daemon, checks, name, token=None, width=1440, dark=False, link=None):
    """A page that is logged in, with everything that its console says kept."""
    context = browser.new_context(viewport={"width": width, "height": 900 if width > 600 else 844},
                                  color_scheme="dark" if dark else "light", reduced_motion="reduce")
    page = context.new_page()
    page.said = []
    page.expected = []
    page.on("console", lambda message: message.type in ("error", "warning") and heard(page, checks, name, message.text))
    page.on("pageerror", lambda error: heard(page, checks, name, str(error)))
    page.goto(link or daemon.link(token))
    page.wait_for_selector("main[data-view]:not([data-view=login])")
    return page


def heard(page, checks, name, text):
    if not any(word in text for word in page.expected):
        checks.ok(f"{name}: the console is silent", False, text[:400])


def until(page, script, arg=None, seconds=30):
    """Waits until a function in the page is true. Playwright's own way is forbidden by the page's policy."""
    end = time.time() + seconds
    while not page.evaluate(script, arg):
        if time.time() > end:
            raise TimeoutError(f"{script} did not become true")
        page.wait_for_timeout(50)


def settled(page, view):
    """The view is there and nothing is on its way any more."""
    page.wait_for_selector(f"main[data-view={view}]", timeout=20000)
    until(page, "() => !document.querySelector('.bones')")


def look(page, checks, name, axe=True):
    """Nothing is wider than the screen, and axe finds nothing."""
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if wide > 0:
        culprit = page.evaluate("""[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
            .slice(0, 3).map(e => e.tagName + '.' + e.className).join(', ')""")
        checks.ok(f"{name}: nothing is wider than the screen", False, f"{wide} px: {culprit}")
    else:
        checks.ok(f"{name}: nothing is wider than the screen", True)
    page.screenshot(path=str(checks.out / f"{name.replace(' ', '-').replace('/', '_')}.png"), full_page=False)
    if not axe:
        return
    if not page.evaluate("!!window.axe"):
        page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, rules)", RULES)
    faults = [f"{v['id']} ({len(v['nodes'])}): {v['nodes'][0]['target']} {v['nodes'][0]['failureSummary'][:160]}" for v in found["violations"]]
    checks.ok(f"{name}: axe", not faults, " | ".join(faults))
