"""What people do: log in, look around, change something, and wait while the daemon is away."""

import json
import urllib.parse

from .browser import look, open_page, settled, until
from .views import wait_for_job


def login(browser, demo, checks):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(demo.address + "/jobs?state=ended")
    page.wait_for_selector("input#token")
    page.expected = page.said = []
    look(page, checks, "login light")
    page.fill("#token", "oef_wrong")
    page.click("button[type=submit]")
    page.wait_for_selector("[role=alert]:not([hidden])")
    checks.ok("login: a wrong token is told so", "unknown" in page.inner_text("[role=alert]"))
    page.fill("#token", demo.token)
    page.click("button[type=submit]")
    settled(page, "jobs")
    checks.ok("login: one comes where one wanted to go", page.url.endswith("/jobs?state=ended"), page.url)
    cookies = context.cookies()
    checks.ok("login: the cookie is not for scripts", all(c["httpOnly"] and c["sameSite"] == "Strict" for c in cookies) and cookies, cookies)
    page.click(".menu summary")
    page.click("text=Log out")
    page.wait_for_selector("input#token")
    checks.ok("login: the way out", not context.cookies(), context.cookies())
    # The link that `oef up` printed, and that of `oef open`, each count once.
    for name, link in [("up", demo.printed_link()), ("open", demo.cli("open", "--print").strip())]:
        page.goto(link)
        settled(page, "now")
        checks.ok(f"login: the link of `oef {name}` leaves no code in the address", "#" not in page.url, page.url)
        other = browser.new_context().new_page()
        other.goto(link)
        other.wait_for_selector("[role=alert]:not([hidden])")
        checks.ok(f"login: the link of `oef {name}` counts once", other.locator("input#token").is_visible())
        other.context.close()
    context.close()
    print("ok   login", flush=True)


def everyday(browser, demo, checks):
    page = open_page(browser, demo, checks, "everyday")
    settled(page, "now")
    now(page, checks)
    jobs(page, demo, checks)
    whatif(page, demo, checks)
    rounds(page, demo, checks)
    usage(page, demo, checks)
    cluster(page, demo, checks)
    private(browser, demo, checks)
    page.context.close()
    print("ok   everyday", flush=True)


def now(page, checks):
    page.focus("canvas.timeline")
    for key in ["ArrowDown", "ArrowDown", "ArrowLeft", "ArrowUp"]:
        page.keyboard.press(key)
    checks.ok("now: keys go from GPU to GPU and are spoken", "GPU" in page.inner_text("#said"), page.inner_text("#said"))
    checks.ok("now: what has the focus is explained", page.is_visible("#tip"))
    page.keyboard.press("Escape")
    page.focus("canvas.strip")
    page.keyboard.press("End")
    page.wait_for_selector(".witness-box .cert")
    checks.ok("now: a tick shows the certificate", "sharing incentive" in page.inner_text(".witness-box"))
    page.screenshot(path=str(checks.out / "now-witness.png"))
    page.click(".figure-head:has-text('Who ran where') >> text=Table")
    page.wait_for_selector("text=Data of the chart who-ran-where", state="attached")
    with page.expect_download() as download:
        page.click(".figure-head:has-text('Who ran where') >> text=CSV")
    text = open(download.value.path()).read()
    checks.ok("now: every chart is a CSV", text.startswith("job,tenant,letters"), text[:80])
    checks.ok("now: a CSV has the data", text.count("\n") > 3, text[:200])


def jobs(page, demo, checks):
    page.click("nav >> text=Jobs")
    settled(page, "jobs")
    page.fill("input[type=search]", "zzz-nothing")
    page.wait_for_selector("text=No jobs here")
    page.fill("input[type=search]", "vision")
    until(page, "() => [...document.querySelectorAll('tbody .chip-name')].every(e => e.textContent === 'vision')")
    page.click("th >> text=ran")
    checks.ok("jobs: sorted by what is clicked", page.locator("th[aria-sort]").inner_text().startswith("ran"))
    job = demo.ask("POST", "/jobs", {"tenant": "vision", "name": "to-cancel", "command": ["sh", "-c", "echo hello-page; echo to-stderr >&2; sleep 300"]})["ids"][0]
    page.goto(f"{demo.address}/jobs/{job}")
    settled(page, "job")
    until(page, "() => document.querySelector('.output').textContent.includes('hello-page')", seconds=60)
    until(page, "() => document.querySelector('.output .err')?.textContent.includes('to-stderr')", seconds=60)
    page.click("button:text-is('stdout')")
    until(page, "() => document.querySelector('.output').textContent.trim() === 'hello-page'")
    page.click("button:text-is('both')")
    page.click("button:text-is('Hold')")
    page.click("dialog >> text=Hold the job")
    page.wait_for_selector("button:text-is('Release')", timeout=60000)
    page.wait_for_selector(".pill.queued", timeout=60000)
    checks.ok("job: held from the page", demo.ask("GET", f"/jobs/{job}")["spec"].get("held") is True)
    page.click("button:text-is('Release')")
    page.wait_for_selector("button:text-is('Hold')", timeout=60000)
    page.click("button:text-is('Cancel')")
    page.wait_for_selector("dialog[open]")
    look(page, checks, "dialog light")
    page.click("dialog >> text=Cancel the job")
    page.wait_for_selector(".pill.cancelled", timeout=60000)
    checks.ok("job: cancelled from the page", demo.ask("GET", f"/jobs/{job}")["state"] in ("cancelled", "stopping"))


def whatif(page, demo, checks):
    page.goto(demo.address + "/whatif")
    settled(page, "whatif")
    before = demo.ask("GET", "/tenants/speech")["weight"]
    slider = page.locator(".slider:has-text('speech') input[type=range]")
    slider.focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector(".slider.changed:has-text('speech')")
    until(page, "() => [...document.querySelectorAll('td b')].some(e => e.previousElementSibling?.tagName === 'S')")
    checks.ok("what if: the link carries the scenario", "speech" in urllib.parse.unquote(page.url), page.url)
    page.click("text=Add one")
    page.wait_for_selector("td >> text=new")
    page.select_option("#mechanism", "cooperative")
    page.wait_for_selector("th:has-text('then: cooperative')")
    look(page, checks, "whatif changed light")
    page.screenshot(path=str(checks.out / "whatif-changed.png"), full_page=True)
    page.click("text=Apply…")
    page.wait_for_selector("dialog[open] li")
    words = page.inner_text("dialog")
    checks.ok("what if: apply says what will change", "for speech" in words and "cooperative" in words, words)
    page.click("dialog >> text=Leave it")
    checks.ok("what if: nothing changes without a yes", demo.ask("GET", "/tenants/speech")["weight"] == before)
    again = open_scenario(demo, {"weights": {"speech": before * 3}})
    page.goto(again)
    settled(page, "whatif")
    page.click("text=Apply…")
    page.click("dialog >> button:text-is('Apply')")
    page.wait_for_selector(".toast")
    checks.ok("what if: applied", demo.ask("GET", "/tenants/speech")["weight"] == before * 3)
    demo.ask("PATCH", "/tenants/speech", {"weight": before})


def open_scenario(demo, scenario):
    return demo.address + "/whatif?" + urllib.parse.urlencode({"s": json.dumps(scenario)})


def rounds(page, demo, checks):
    page.goto(demo.address + "/rounds")
    settled(page, "rounds")
    page.focus(".scrub input")
    page.keyboard.press("ArrowLeft")
    until(page, "() => location.search.startsWith('?round=')")
    page.wait_for_selector(".cert")
    checks.ok("rounds: one goes back", "What moved" in page.inner_text("main"))


def usage(page, demo, checks):
    page.click("nav >> text=Usage")
    settled(page, "usage")
    names = page.eval_on_selector_all(".usage-name .chip-name", "all => all.map(e => e.textContent)")
    checks.ok("usage: a bar for each tenant", {"vision", "speech"} <= set(names), names)
    words = page.get_attribute(".usage-bar", "aria-label")
    checks.ok("usage: bars are told in words", "within its share" in words and "GPU-hours" in words, words)
    answer = demo.ask("GET", "/usage?by=type")
    page.click("button:text-is('Gpu type')")
    until(page, "() => location.search.includes('by=type') && !document.querySelector('.usage-name .chip-name')")
    names = page.eval_on_selector_all(".usage-name", "all => all.map(e => e.textContent)")
    checks.ok("usage: by type", set(names) == {row["type"] for row in answer["rows"]}, names)
    page.click("button:text-is('User')")
    page.wait_for_selector("text=Shares belong to tenants")
    page.click("button:text-is('Workload')")
    page.wait_for_selector(".usage-name:has-text('vision/')")
    page.click("button:text-is('Today')")
    until(page, "() => location.search.includes('since=1d')")
    page.reload()
    settled(page, "usage")
    chosen = page.eval_on_selector_all("button[aria-pressed=true]", "all => all.map(e => e.textContent)")
    checks.ok("usage: the address keeps the choice", {"Today", "Workload"} <= set(chosen), chosen)
    with page.expect_download() as download:
        page.click(".figure-head:has-text('GPU-hours') >> text=CSV")
    text = open(download.value.path()).read()
    checks.ok("usage: as CSV", text.startswith("workload,gpu type,delivered,wasted,busy"), text[:80])


def cluster(page, demo, checks):
    page.goto(demo.address + "/cluster")
    settled(page, "cluster")
    page.click("button[aria-label='Drain rtx3070-1']")
    page.fill("dialog >> input[name=reason]", "a <b>fan</b>")
    page.click("dialog >> button:text-is('Drain')")
    page.wait_for_selector("button[aria-label='Return rtx3070-1']")
    page.screenshot(path=str(checks.out / "cluster-drained.png"))
    checks.ok("cluster: drained", any(n["health"] == "down" for n in demo.ask("GET", "/cluster")["nodes"]))
    page.click("button[aria-label='Return rtx3070-1']")
    page.click("dialog >> button:text-is('Return')")
    page.wait_for_selector("button[aria-label='Drain rtx3070-1']")


def private(browser, demo, checks):
    """A tenant sees nothing private of others."""
    roles = demo.roles("speech")
    page = open_page(browser, demo, checks, "tenant private", roles["tenant"])
    page.expected = ["404"]
    other = wait_for_job(demo, "vision")
    page.goto(f"{demo.address}/jobs/{other}")
    page.wait_for_selector(".trouble")
    checks.ok("tenant: another's job is not there", "there is no job" in page.inner_text("main"))
    page.goto(f"{demo.address}/jobs")
    settled(page, "jobs")
    names = page.eval_on_selector_all("tbody .chip-name", "all => all.map(e => e.textContent)")
    checks.ok("tenant: only its own jobs", set(names) <= {"speech"}, names)
    page.goto(f"{demo.address}/cluster")
    settled(page, "cluster")
    checks.ok("tenant: no buttons that it may not press", page.locator("button:text-is('Drain')").count() == 0)
    page.context.close()


def killed_and_back(browser, demo, checks):
    page = open_page(browser, demo, checks, "killed")
    settled(page, "now")
    page.expected = ["ERR_", "Failed to load resource", "net::"]
    demo.kill()
    page.wait_for_selector(".banner.bad", timeout=30000)
    page.wait_for_timeout(500)
    page.screenshot(path=str(checks.out / "disconnected.png"))
    checks.ok("killed: the page says that it is old", "No connection" in page.inner_text("#banner"))
    checks.ok("killed: what was seen stays", page.locator("canvas.timeline").is_visible())
    demo.start()
    page.wait_for_selector(".banner.bad", state="detached", timeout=60000)
    page.wait_for_selector(".dot[data-state=live]", timeout=30000)
    round_before = page.inner_text(".clock b")
    until(page, "before => document.querySelector('.clock b').textContent !== before", round_before)
    checks.ok("killed: it goes on by itself, still logged in", page.locator("input#token").count() == 0)
    page.context.close()
    print("ok   killed and back", flush=True)
