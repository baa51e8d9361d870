"""Every view, in every role, in both schemes, on two screens."""

import json
import time
import urllib.parse

from .browser import look, open_page, settled, until

# Roles with the schemes and widths in which they go through all views.
WAYS = [("admin", False, 1440), ("admin", True, 390), ("viewer", True, 1440), ("tenant", False, 390), ("tenant", False, 1440)]


def addresses(job, tenant):
    return [("/", "now"), ("/tenants", "tenants"), (f"/tenants/{tenant}", "tenant"), ("/jobs", "jobs"), (f"/jobs/{job}", "job"),
            ("/whatif", "whatif"), ("/rounds", "rounds"), ("/usage", "usage"), ("/cluster", "cluster"), ("/events", "events")]


def every_view(browser, demo, checks):
    # A tenant that wants to be markup, and some rounds to look back at.
    evil = "<img src=x onerror=console.error('markup')>"
    demo.ask("POST", "/tenants", {"name": evil})
    demo.ask("POST", "/jobs", {"tenant": evil, "name": evil, "workload": evil, "command": ["sleep", "300"]})
    # A tenant whose page has all that a tenant can have.
    types = {node["type"] for node in demo.ask("GET", "/cluster")["nodes"]}
    demo.ask("PATCH", "/tenants/vision", {"guarantee": {max(types): 1}, "limit": {max(types): 6, min(types): 4}})
    demo.ask("PATCH", "/settings", {"usage_half_life_s": 86400})
    while demo.ask("GET", "/overview")["round"] < 4:
        time.sleep(0.3)
    roles = demo.roles("vision")
    own = wait_for_job(demo, "vision")
    for role, dark, width in WAYS:
        way = f"{role} {'dark' if dark else 'light'} {width}"
        page = open_page(browser, demo, checks, way, roles[role], width, dark)
        for address, view in addresses(own, "vision"):
            page.goto(demo.address + address)
            settled(page, view)
            look(page, checks, f"{way} {view}")
        if role == "tenant":
            own_whatif(page, demo, checks, way)
        page.context.close()
        print(f"ok   {way}: all views", flush=True)


def own_whatif(page, demo, checks, way):
    """A tenant has the slider of its own weight, whatever the link says."""
    scenario = {"gpus": {"slow": 9}, "weights": {"vision": 2, "speech": 2}, "mechanism": "max-min"}
    page.goto(demo.address + "/whatif?" + urllib.parse.urlencode({"s": json.dumps(scenario)}))
    settled(page, "whatif")
    checks.ok(f"{way}: what if: one slider", page.locator(".slider").count() == 1)
    until(page, "() => document.querySelector('main').dataset.answerMs")
    checks.ok(f"{way}: what if: an answer", page.locator("main [role=alert]").count() == 0)
    checks.ok(f"{way}: what if: its own scenario", "speech" not in page.url, page.url)


def wait_for_job(daemon, tenant):
    for _ in range(300):
        jobs = daemon.ask("GET", f"/jobs?tenant={tenant}&state=running&all=true")["jobs"]
        if jobs:
            return jobs[0]["id"]
        time.sleep(0.2)
    raise SystemExit(f"{tenant} has no job that runs")


def large(browser, cluster, checks):
    job = cluster.ask("GET", "/jobs?state=running&limit=1")["jobs"][0]
    for dark, width in [(False, 1440), (True, 390)]:
        way = f"large {'dark' if dark else 'light'} {width}"
        page = open_page(browser, cluster, checks, way, None, width, dark)
        for address, view in addresses(job["id"], job["tenant"]):
            page.goto(cluster.address + address)
            settled(page, view)
            # Lists of hundreds take axe half a minute, and have the same parts as short ones.
            look(page, checks, f"{way} {view}", axe=width > 600 and view in ("now", "whatif"))
        page.context.close()
        print(f"ok   {way}: all views", flush=True)
    # Zooming in until rows have letters.
    page = open_page(browser, cluster, checks, "large zoom", None, 1440)
    settled(page, "now")
    for _ in range(9):
        page.click("button[aria-label='Zoom in']")
    page.wait_for_timeout(400)
    page.locator("canvas.timeline").scroll_into_view_if_needed()
    page.screenshot(path=str(checks.out / "large-zoomed.png"))
    checks.ok("large: the heat map can be zoomed", float(page.get_attribute("canvas.timeline", "data-paint-ms")) >= 0)
    page.context.close()
