"""The dashboard and the rules against a real Prometheus: `metrics_test.py OEF PROMETHEUS`."""

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from page_test.cluster import Demo, free_port

ROOT = Path(__file__).resolve().parent.parent
DASHBOARD = ROOT / "contrib/grafana/oef.json"
RULES = ROOT / "contrib/prometheus/oef.rules.yml"
# As in a cluster, but faster: rates need two scrapes within their range.
CONFIG = """\
global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
rule_files: [ {rules} ]
scrape_configs:
  - job_name: oef
    authorization: {{ credentials: "{token}" }}
    static_configs: [ {{ targets: [ "{target}" ] }} ]
"""
# These are there only with real GPUs: crates/oef-cli/tests/gpu_figures.rs sees them with a driver of its own.
OF_DRIVER = {
    "oef_gpu_utilisation_ratio",
    "oef_gpu_memory_used_bytes",
    "oef_gpu_memory_total_bytes",
    "oef_gpu_held_idle_seconds",
}


class Prometheus:
    """A Prometheus that scrapes one daemon, with the rules of this repository."""

    def __init__(self, program, daemon):
        self.dir = Path(tempfile.mkdtemp(prefix="oef-metrics-"))
        self.address = f"http://127.0.0.1:{free_port()}"
        config = self.dir / "prometheus.yml"
        target = daemon.address.removeprefix("http://")
        config.write_text(CONFIG.format(rules=RULES, target=target, token=daemon.token))
        command = [program, f"--config.file={config}", f"--storage.tsdb.path={self.dir}/data"]
        self.log = (self.dir / "log").open("wb")
        listen = f"--web.listen-address={self.address.removeprefix('http://')}"
        self.process = subprocess.Popen([*command, listen], stdout=self.log, stderr=self.log)

    def ask(self, path, **query):
        address = f"{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(address, timeout=30) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # Not ready yet.
                raise ConnectionError from error
            raise AssertionError(f"{query}: {error.read().decode()}") from error

    def values(self, query):
        return [float(series["value"][1]) for series in self.ask("query", query=query)["result"]]

    def rules(self):
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def until(self, what, is_so):
        for _ in range(300):
            try:
                if is_so():
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        raise AssertionError(f"{what} did not come:\n{(self.dir / 'log').read_text()[-2000:]}")

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def selectors_of(query):
    """Every metric of a query with its labels: a label that no series has would make an alert silent for ever."""
    return re.findall(r"\boef_[a-z_]+\b(?:\{[^}]*\})?", query)


def metrics_of(query):
    """The names of its metrics."""
    return {selector.split("{")[0] for selector in selectors_of(query)}


def without_thresholds(query):
    """What a rule compares. The rule itself has no answer while all is well."""
    return re.sub(r"\s*(==|[<>]=?)\s*[\d.]+", "", query)


class Metrics(unittest.TestCase):
    oef = prometheus = ""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Demo(cls.oef)
        cls.addClassCleanup(cls.daemon.__exit__)
        cls.daemon.start()
        cls.scraper = Prometheus(cls.prometheus, cls.daemon)
        cls.addClassCleanup(cls.scraper.stop)
        # A busy life: jobs that end well, that fail, and that are cancelled, and four rounds.
        for command in [["true"], ["false"], ["sleep", "600"]]:
            cls.daemon.cli("submit", "--tenant", "metrics", "--create-tenant", "--workload", "w", "--", *command)
        # Past usage counts, so that a tenant that has just come and others differ.
        cls.daemon.cli("settings", "--set", "usage_half_life=1d")
        first = cls.scraper
        first.until("a scrape", lambda: first.values('up{job="oef"}') == [1.0])
        begin = first.values("oef_round_number")[0]
        first.until("four rounds", lambda: first.values("oef_round_number")[0] >= begin + 4)
        first.until("the end of jobs", lambda: sum(first.values("increase(oef_ended_total[5m])")) > 0)

    def test_every_query_of_the_dashboard_has_an_answer(self):
        panels = json.loads(DASHBOARD.read_text())["panels"]
        queries = [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]
        self.assertGreater(len(queries), 20)
        for title, query in queries:
            with self.subTest(panel=title, query=query):
                values = self.scraper.values(query)
                if metrics_of(query) <= OF_DRIVER:
                    continue
                self.assertTrue(values, "no series")
                self.assertFalse(all(value != value for value in values), "not a number")

    def test_every_rule_is_evaluated_on_metrics_that_exist(self):
        self.scraper.until("an evaluation", lambda: all(rule["health"] != "unknown" for rule in self.scraper.rules()))
        rules = self.scraper.rules()
        self.assertEqual(len(rules), RULES.read_text().count("- alert:"))
        for rule in rules:
            with self.subTest(rule=rule["name"]):
                self.assertEqual(rule["health"], "ok", rule.get("lastError"))
                if metrics_of(rule["query"]) <= OF_DRIVER:
                    continue
                for selector in selectors_of(rule["query"]):
                    self.assertTrue(self.scraper.values(f"count({selector})"), f"{selector} does not exist")
                values = self.scraper.values(without_thresholds(rule["query"]))
                self.assertTrue(values, "no series to compare")
                self.assertFalse(all(value != value for value in values), "not a number")

    def test_a_query_on_nothing_is_noticed(self):
        wrong = 'sum(oef_gpus{state="sleeping"}) > 0'
        self.assertEqual(self.scraper.values(without_thresholds(wrong)), [])
        self.assertEqual(selectors_of(wrong), ['oef_gpus{state="sleeping"}'])
        self.assertEqual(self.scraper.values("count(oef_gpus_that_do_not_exist)"), [])

    def test_metrics_of_the_book_exist(self):
        table = re.findall(r"^\| (`oef_.*?) \|", (ROOT / "docs/src/operate.md").read_text(), re.M)
        named = {name for cell in table for name in re.findall(r"`(oef_[a-z_]+)", cell)}
        self.assertGreater(len(named), 15)
        for metric in sorted(named - OF_DRIVER):
            with self.subTest(metric=metric):
                series = f'{{__name__=~"{metric}(_count)?"}}'
                self.assertTrue(self.scraper.values(f"count({series})"), "does not exist")

    def test_when_the_daemon_is_killed_the_alert_comes_and_goes(self):
        def state():
            return {rule["name"]: rule["state"] for rule in self.scraper.rules()}["OefDown"]

        self.assertEqual(state(), "inactive")
        self.daemon.kill(signal.SIGKILL)
        self.scraper.until("the alert", lambda: state() == "pending")
        self.daemon.start()
        self.scraper.until("its end", lambda: state() == "inactive")
        # The counters began again; a rate is not spoilt by that.
        self.assertTrue(all(value >= 0 for value in self.scraper.values("rate(oef_submissions_total[5m])")))


if __name__ == "__main__":
    Metrics.oef, Metrics.prometheus = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
