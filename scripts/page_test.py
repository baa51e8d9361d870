#!/usr/bin/env python3
"""Drives the page in Chromium; see scripts/page-test.sh, which installs what this needs."""

import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from page_test import cost, story, views
from page_test.browser import Checks
from page_test.cluster import Demo, Large


def main():
    oef, large, out, *flags = sys.argv[1:]
    began = time.time()
    checks = Checks(Path(out))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        if "--large" not in flags:
            with Demo(oef) as demo:
                small(browser, demo, checks, flags)
        if "--quick" not in flags:
            with Large(large, gpus=240, tenants=50) as middle:
                cost.whatif(browser, middle, checks)
            with Large(large, gpus=6212, tenants=500) as cluster:
                views.large(browser, cluster, checks)
                cost.first_paint_and_update(browser, cluster, checks)
        browser.close()
    return checks.close(time.time() - began)


def small(browser, demo, checks, flags):
    if "--stories" not in flags:
        views.every_view(browser, demo, checks)
    story.login(browser, demo, checks)
    story.everyday(browser, demo, checks)
    story.killed_and_back(browser, demo, checks)
    if "--load" in flags:
        cost.many_pages(demo, checks)


if __name__ == "__main__":
    sys.exit(main())
