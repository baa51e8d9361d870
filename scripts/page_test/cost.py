"""What the page costs: first paint, bytes, the main thread, the daemon. Figures are printed, never asserted."""

import asyncio
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from .browser import open_page, settled


def first_paint_and_update(browser, cluster, checks):
    page = open_page(browser, cluster, checks, "cost")
    settled(page, "now")
    context = page.context
    fresh = context.new_page()
    client = context.new_cdp_session(fresh)
    client.send("Network.enable")
    client.send("Network.setCacheDisabled", {"cacheDisabled": True})
    received = []
    client.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    fresh.goto(cluster.address + "/")
    settled(fresh, "now")
    paint = fresh.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null")
    timeline = fresh.evaluate("document.querySelector('canvas.timeline').dataset.paintMs")
    checks.figure("first contentful paint at 6,212 GPUs and 500 tenants", f"{paint:.0f} ms")
    checks.figure("transferred until everything is drawn", f"{sum(received) / 1000:.0f} KB in {len(received)} answers")
    checks.figure("drawing the heat map", f"{timeline} ms")
    checks.ok("cost: less than 300 KB", sum(received) < 300_000, sum(received))
    page.close()
    updates(fresh, client, checks)
    context.close()


# Until an update has come and everything is drawn.
UPDATE = "() => new Promise(done => addEventListener('updated', () => setTimeout(done, 600), { once: true }))"
# A second without an update: true, or false if there was one.
REST = """() => new Promise(done => {
    let quiet = true;
    const one = () => { quiet = false; };
    addEventListener('updated', one);
    setTimeout(() => { removeEventListener('updated', one); done(quiet); }, 1000);
})"""


def updates(page, client, checks):
    """The busy time of the main thread for one update, less what a page at rest costs in the same time."""
    client.send("Performance.enable")

    def read():
        metrics = {m["name"]: m["value"] for m in client.send("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"], metrics["Timestamp"]

    def cost(script):
        before = read()
        told = page.evaluate(script)
        after = read()
        return after[0] - before[0], after[1] - before[1], told

    costs, rests = [], []
    for _ in range(3):
        page.evaluate(UPDATE)
        rest = next((found for found in (cost(REST) for _ in range(30)) if found[2]), (0.0, 1.0, True))
        rests.append(rest[0] / rest[1])
        update = cost(UPDATE)
        costs.append((update[0] - rests[-1] * update[1]) * 1000)
    checks.figure("main thread of a page at rest", ", ".join(f"{100 * rest:.1f} %" for rest in rests))
    checks.figure("main thread for an update at 6,212 GPUs and 500 tenants", ", ".join(f"{c:.0f} ms" for c in costs))


def whatif(browser, cluster, checks):
    page = open_page(browser, cluster, checks, "whatif cost")
    page.goto(cluster.address + "/whatif")
    settled(page, "whatif")
    slider = page.locator(".slider input[type=range]").nth(8)
    slider.focus()
    times = []
    for _ in range(15):
        page.evaluate("delete document.getElementById('main').dataset.answerMs")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("main[data-answer-ms]", timeout=20000)
        times.append(int(page.get_attribute("main", "data-answer-ms")))
    times.sort()
    checks.figure("what if at 50 tenants, from the movement to the answer", f"median {times[len(times) // 2]} ms, worst {times[-1]} ms")
    page.context.close()


def many_pages(demo, checks, pages=200, seconds=30):
    idle = used(demo, seconds / 3)
    # Playwright has a loop of its own in this thread.
    with ThreadPoolExecutor(1) as thread:
        busy = thread.submit(asyncio.run, with_pages(demo, pages, seconds)).result()
    checks.figure(f"{pages} open pages cost the daemon", f"{100 * (busy - idle):.1f} % of a core (it takes {100 * idle:.1f} % without)")


def used(demo, seconds):
    began = demo.cpu_seconds()
    time.sleep(seconds)
    return (demo.cpu_seconds() - began) / seconds


async def with_pages(demo, pages, seconds):
    tasks = [asyncio.create_task(one_page(demo)) for _ in range(pages)]
    await asyncio.sleep(4)
    began = demo.cpu_seconds()
    await asyncio.sleep(seconds)
    spent = (demo.cpu_seconds() - began) / seconds
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return spent


async def one_page(demo):
    """What the view Now does: it listens, and asks for what is new when something happened."""
    host = urllib.parse.urlparse(demo.address)
    head = f"Host: {host.netloc}\r\nAuthorization: Bearer {demo.token}\r\nAccept-Encoding: gzip\r\n"
    events, out = await asyncio.open_connection(host.hostname, host.port)
    out.write(f"GET /api/v1/events HTTP/1.1\r\n{head}\r\n".encode())
    reader, writer = await asyncio.open_connection(host.hostname, host.port)

    async def get(path):
        writer.write(f"GET /api/v1{path} HTTP/1.1\r\n{head}\r\n".encode())
        headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(headers.split("content-length: ")[1].split("\r\n")[0])
        return await reader.readexactly(length)

    up_to = int(time.time() * 1000)
    asked = 0.0
    while True:
        line = await events.readline()
        if not line.startswith(b"data:") or time.time() - asked < 1.0:
            continue
        asked = time.time()
        await get("/overview")
        await get(f"/timeline?changed_after_ms={up_to - 3000}")
        up_to = int(time.time() * 1000)
        if b'"topic":"round"' in line:
            await get("/rounds/recent?limit=1")
            await get("/fairness/series")

