"""The client against a real daemon, which runs real processes."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import List, Optional
from unittest import mock

from oef.client import Client, Event, EventStream, Job, JobSpec, Refused, Unreachable, WaitTimeout

from .daemon import ROOT, Daemon, DaemonCase, Proxy, environment_of, eventually, oef_binary
from .harness import PATIENCE_SECONDS, Case, free_port

#: The same whatever the daemon's clock and round are.
LONG = ["sleep", "600"]

PREEMPTIBLE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
print("run", os.environ["OEF_RESTART"], flush=True)
time.sleep(600)
"""


class Jobs(DaemonCase):
    """What a tenant does all day."""

    def submit(self, *command: str, **fields: object) -> int:
        id = self.client.submit(list(command), **fields)
        self.addCleanup(self.cancel, id)
        return id

    def cancel(self, id: int) -> None:
        if not self.client.job(id).is_ended:
            self.client.cancel(id)
            self.client.wait(id, PATIENCE_SECONDS)

    def wait(self, id: int) -> Job:
        return self.client.wait(id, PATIENCE_SECONDS)

    def until(self, id: int, state: str) -> None:
        eventually(lambda: self.client.job(id).state == state, lambda: str(self.client.job(id)))

    def test_submit_wait_and_read(self) -> None:
        id = self.submit("sh", "-c", "echo $GREETING; echo oops >&2", env={"GREETING": "grüße"}, labels={"lr": 0.1})
        job = self.wait(id)
        self.assertEqual((job.state, job.tenant, job.labels, job.is_finished), ("finished", "ada", {"lr": "0.1"}, True))
        self.assertEqual(sorted(self.client.logs(id).splitlines()), ["grüße", "oops"])
        self.assertEqual(self.client.logs(job, stream="err"), "oops\n")
        self.assertEqual(self.client.logs(id, rank=0), "grüße\n")
        self.assertEqual(job.document["spec"]["workdir"], os.getcwd())
        assert job.started is not None and job.ended is not None
        self.assertLessEqual(job.submitted, job.started)
        self.assertLessEqual(job.started, job.ended)
        self.assertEqual([each["state"] for each in job.document["history"]][-1], "finished")

    def test_a_job_that_fails(self) -> None:
        job = self.wait(self.submit("sh", "-c", "echo no luck >&2; exit 3"))
        self.assertEqual((job.state, job.is_ended, job.is_finished), ("failed", True, False))
        self.assertIn("3", str(self.client.why(job)) + job.reason)

    def test_strange_words_and_names(self) -> None:
        words = ["", " ", "a b", "'", '"', "$HOME", "{x}", "\\", "--", "-c", "ü\U0001f600", "a\nb", "*"]
        show = "import sys, json; print(json.dumps(sys.argv[1:]))"
        id = self.submit(sys.executable, "-c", show, *words, name="ü / .. ?#%&", labels={"k=v&": "1,2 ü"})
        job = self.wait(id)
        self.assertEqual(json.loads(self.client.logs(id)), words)
        self.assertEqual((job.name, job.labels), ("ü / .. ?#%&", {"k=v&": "1,2 ü"}))
        for name in ("..", "a/b", "?x", "ü ü", "%2e"):
            with self.subTest(name), self.assertRaises(Refused) as caught:
                self.client.tenant(name)
            self.assertIn(caught.exception.status, (404, 422))

    def test_the_output_of_several_workers_is_marked(self) -> None:
        id = self.submit("sh", "-c", "echo I am $RANK", workers=2)
        self.assertEqual(self.wait(id).workers, 2)
        self.assertEqual(sorted(self.client.logs(id).splitlines()), ["[0] I am 0", "[1] I am 1"])
        self.assertEqual(self.client.logs(id, rank=1), "I am 1\n")

    def test_following_gives_lines_as_they_are_written(self) -> None:
        # It ends only when what it wrote was read.
        file = self.daemon.folder / "go"
        script = f"echo one; while [ ! -e {file} ]; do sleep 0.05; done; printf 'two\\r'; printf 'three\\r\\n'; printf end"
        lines: List[str] = []
        for line in self.client.follow(self.submit("sh", "-c", script)):
            lines.append(line)
            file.touch()
        # A line without an end gets one.
        self.assertEqual(lines, ["one\n", "two\r", "three\r\n", "end\n"])

    def test_following_goes_on_after_a_preemption(self) -> None:
        id = self.submit(sys.executable, "-c", PREEMPTIBLE)
        lines = self.client.follow(id)
        self.assertEqual(next(lines), "run 0\n")
        self.client.hold(id)
        self.until(id, "queued")
        self.client.release(id)
        self.assertEqual(next(lines), "run 1\n")
        self.assertEqual(self.client.logs(id), "run 0\nrun 1\n")
        self.assertEqual(self.client.logs(id, tail=1), "run 1\n")
        self.client.cancel(id)
        self.assertEqual(list(lines), [])
        self.assertEqual(list(self.client.follow(id)), ["run 0\n", "run 1\n"])

    def test_hold_edit_release_cancel(self) -> None:
        id = self.submit(*LONG, held=True, labels={"old": "1"})
        self.assertEqual((self.client.job(id).blocked, self.client.why(id).kind), ("held", "held"))
        with self.assertRaisesRegex(Refused, "has no output"):
            self.client.logs(id)
        job = self.client.edit(
            id, name="new", priority=5, types=["b"], max_run_s=timedelta(hours=2), labels={"old": None, "new": 2},
            not_before=timedelta(days=1),
        )  # fmt: skip
        spec = job.document["spec"]
        self.assertEqual((job.name, job.priority, job.labels), ("new", 5, {"new": "2"}))
        self.assertEqual((spec["types"], spec["max_run_s"]), (["b"], 7200.0))
        self.assertEqual(self.client.release(id).blocked, "not_before")
        job = self.client.edit(id, not_before=None, max_run_s=None)
        self.assertNotIn("max_run_s", job.document["spec"])
        self.until(id, "running")
        self.assertEqual([gpu["type"] for gpu in self.client.job(id).document["gpus"]], ["b"])
        with self.assertRaises(Refused) as caught:
            self.client.edit(id, types=["a"])
        self.assertEqual((caught.exception.kind, caught.exception.field), ("conflict", "types"))
        self.client.cancel(id)
        self.assertEqual(self.wait(id).state, "cancelled")
        with self.assertRaisesRegex(Refused, "cancelled already"):
            self.client.cancel(id)
        again = self.client.resubmit(id)
        self.addCleanup(self.cancel, again)
        self.assertEqual((self.client.job(again).name, again > id), ("new", True))

    def test_a_wait_that_takes_too_long(self) -> None:
        ids = [self.submit(*LONG, held=True), self.submit("true")]
        with self.assertRaises(WaitTimeout) as caught:
            self.client.wait_all(ids, 3)
        self.assertIn(ids[0], caught.exception.jobs)
        self.assertIsInstance(caught.exception, TimeoutError)

    def test_jobs_come_as_they_end(self) -> None:
        file = self.daemon.folder / "second"
        wait = f"while [ ! -e {file} ]; do sleep 0.05; done"
        ids = [self.submit("sh", "-c", wait), self.submit("true")]
        ended = []
        for job in self.client.as_completed(ids, PATIENCE_SECONDS):
            ended.append(job.id)
            file.touch()
        self.assertEqual(ended, ids[::-1])
        self.assertEqual([job.id for job in self.client.wait_all(ids + ids[:1])], ids)

    def test_jobs_that_wait_for_others(self) -> None:
        first = self.submit("false", held=True)
        then = self.submit("true", after=[{"job": first, "when": "failed"}])
        never = self.submit("true", after=[self.client.job(first)])
        self.assertEqual(self.client.job(then).blocked, "dependency")
        self.client.release(first)
        self.assertEqual([self.wait(id).state for id in (first, then, never)], ["failed", "finished", "cancelled"])

    def test_sweeps_and_pages(self) -> None:
        values = {"lr": [0.1, 0.01, 0.001], "n": range(5)}
        ids = self.client.sweep(["sh", "-c", "echo {lr} {n}"], values, at_once=2)
        self.assertEqual(len(ids), 15)
        jobs = self.client.wait_all(ids, PATIENCE_SECONDS)
        self.assertEqual([self.client.logs(job).split() for job in jobs][7], ["0.01", "2"])
        for size in (1, 4, 15, 1000):
            listed = self.client.jobs(all=True, sweep=ids[0], page_size=size)
            self.assertEqual([job.id for job in listed], ids[::-1], size)
        self.assertEqual([job.id for job in self.client.jobs(all=True, label="lr=0.01", state=["finished", "failed"])], ids[9:4:-1])
        self.assertEqual(list(self.client.jobs(sweep=ids[0])), [])

    def test_a_batch_is_taken_whole_or_not_at_all(self) -> None:
        before = [job.id for job in self.client.jobs(all=True)]
        with self.assertRaises(Refused) as caught:
            self.client.submit_all([JobSpec(["true"]), JobSpec(["true"], types=["c"])])
        self.assertEqual((caught.exception.kind, caught.exception.field), ("unknown_type", "jobs[1].types"))
        self.assertEqual([job.id for job in self.client.jobs(all=True)], before)

    def test_refusals_have_the_words_of_the_daemon(self) -> None:
        cases = [
            (lambda: self.client.submit(["true"], tenant="adda"), "unknown_tenant", "tenant", 404),
            (lambda: self.client.submit(["true"], types=["aa"]), "unknown_type", "types", 422),
            (lambda: self.client.submit(), "bad_request", "command", 422),
            (lambda: self.client.job(10**9), "not_found", None, 404),
            (lambda: Client(self.client.access.server, "wrong").info(), "unauthorized", None, 401),
            (lambda: self.client.request("GET", "/nothing"), "not_found", None, 404),
            (lambda: self.client.usage(by="moon"), "bad_request", None, 400),
        ]
        for number, (ask, kind, field, status) in enumerate(cases):
            with self.subTest(number), self.assertRaises(Refused) as caught:
                ask()
            error = caught.exception
            self.assertEqual((error.kind, error.status), (kind, status), str(error))
            if field is not None:
                self.assertEqual(error.field, field)
            self.assertIn(error.detail, str(error))
            self.assertIn(error.hint or "", str(error))

    def test_a_tenant_is_created_when_it_is_wanted(self) -> None:
        id = self.client.submit(["true"], tenant="grace", create_tenant=True)
        self.assertEqual(self.wait(id).tenant, "grace")
        with self.assertRaisesRegex(Refused, "no tenant `garce`"):
            self.client.submit_all([JobSpec(["true"]), JobSpec(["true"], tenant="garce")])

    def test_a_lost_answer_does_not_make_two_jobs(self) -> None:
        for cut in (0, 30, 150):  # Before the answer, in its head, in its body.
            proxy = Proxy(self.daemon.port, [cut, cut])
            self.addCleanup(proxy.close)
            client = Client(proxy.address, self.client.access.token)
            ids = client.submit_all([JobSpec(["true"], tenant="ada")] * 2, name=f"cut {cut}")
            self.assertEqual(proxy.requests, 3)
            found = [job.id for job in self.client.jobs(all=True, label=f"array=cut {cut}")]
            self.assertEqual(sorted(found), ids)

    def test_what_cannot_be_repeated_is_not(self) -> None:
        id = self.submit(*LONG, held=True)
        proxy = Proxy(self.daemon.port, [0])
        self.addCleanup(proxy.close)
        with self.assertRaises(Unreachable) as caught:
            Client(proxy.address, self.client.access.token).resubmit(id)
        self.assertTrue(caught.exception.was_sent)
        self.assertIn("may have been carried out", str(caught.exception))
        self.assertEqual(proxy.requests, 1)
        for job in self.client.jobs():
            self.cancel(job.id)

    def test_several_threads_share_a_client(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(lambda number: self.client.submit(["echo", number]), range(16)))
            logs = pool.map(lambda id: self.client.logs(self.wait(id)), ids)
            self.assertEqual(list(logs), [f"{number}\n" for number in range(16)])

    def test_a_key_of_ones_own_counts_across_scripts(self) -> None:
        key = "night-sweep-2026-11-16"
        first = self.client.submit(["true"], key=key)
        self.assertEqual(self.daemon.client().submit(["true"], key=key), first)
        with self.assertRaisesRegex(Refused, "other jobs"):
            self.client.submit(["false"], key=key)

    def test_events_are_resumed_where_they_broke_off(self) -> None:
        with self.client.events() as direct:
            ids = self.client.submit_all([JobSpec(["true"])] * 4)
            self.client.wait_all(ids, PATIENCE_SECONDS)
            expected = take(direct, ids)
        # Cut in the head, in the middle of lines, and after events.
        proxy = Proxy(self.daemon.port, [100, 400, 700, 900, 1000, 1100, 1500])
        self.addCleanup(proxy.close)
        client = Client(proxy.address, self.client.access.token)
        with client.events(after=expected[0].id - 1) as events:
            self.assertEqual(take(events, ids), expected)
            self.assertEqual(events.last, expected[-1].id)
        self.assertGreater(proxy.requests, 3)

    def test_a_stream_can_be_closed_from_another_thread(self) -> None:
        events = self.client.events()
        timer = threading.Timer(0.3, events.close)
        timer.start()
        # Rounds begin every second; it ends as soon as it is closed.
        for _ in events:
            pass
        timer.join()
        self.assertEqual(list(events), [])

    def test_the_example_runs_as_it_is(self) -> None:
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / "client" / "sweep.py")], env=environment_of(self.daemon),
            cwd=self.daemon.folder, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"best: lr=0\.1 with loss 0\.0000")


def take(events: EventStream, ids: List[int]) -> List[Event]:
    """The events of these jobs, until all have ended."""
    found: List[Event] = []
    waiting = set(ids)
    for event in events:
        if event.job in ids:
            found.append(event)
            if event.state == "finished" and event.job is not None:
                waiting.discard(event.job)
        if not waiting:
            break
    return found


class Operators(DaemonCase):
    """Tenants, tokens, machines, settings, and what can be asked."""

    def test_tenants_groups_and_tokens(self) -> None:
        client = self.client
        client.set_group("research", weight=3)
        client.create_tenant("vision", weight=2, group="research", limits={"gpus": 2})
        self.assertEqual(client.tenant("vision")["weight"], 2)
        self.assertEqual(client.change_tenant("vision", weight=4, order="fifo", group=None)["weight"], 4)
        self.assertIn("vision", client.tenant_why("vision")["sentence"])
        for number in range(7):
            client.create_tenant(f"t{number}")
        with mock.patch("oef.client._base._PAGE", 3):
            self.assertLessEqual({"vision", "t0", "t6"}, {each["name"] for each in client.tenants()})
        self.assertEqual([each["name"] for each in client.groups()], ["research"])
        client.delete_group("research")
        client.delete_tenant("t0")
        with self.assertRaisesRegex(Refused, "t0"):
            client.tenant("t0")
        made = client.create_token("tenant", tenant="vision", note="sweeps", expires_in_s=timedelta(days=1))
        tenant = Client(client.access.server, made["secret"])
        self.assertEqual(tenant.info()["tenant"], "vision")
        self.assertEqual(client.job(tenant.submit(["true"])).tenant, "vision")
        with self.assertRaises(Refused) as caught:
            tenant.create_tenant("mine")
        self.assertEqual(caught.exception.kind, "forbidden")
        self.assertIn("sweeps", [each.get("note") for each in client.tokens()])
        client.revoke_token(made["token"]["id"])
        with self.assertRaises(Refused) as caught:
            tenant.info()
        self.assertEqual(caught.exception.kind, "unauthorized")

    def test_workloads(self) -> None:
        self.client.create_tenant("speech")
        self.client.set_workload("speech", "..b ü", throughput={"a": 1.0, "b": 2.0})
        self.assertEqual(self.client.workload("speech", "..b ü")["profile"]["throughput"], {"a": 1.0, "b": 2.0})
        self.assertEqual([each["name"] for each in self.client.workloads("speech")], ["..b ü"])

    def test_machines(self) -> None:
        client = self.client
        [name] = [node["name"] for node in client.nodes() if node["type"] == "b"]
        drained = client.drain_node(name, reason="new fan", until=timedelta(hours=2))
        self.assertEqual((drained["health"], drained["reason"]), ("down", "new fan"))
        self.assertEqual(client.node_up(name)["health"], "up")
        client.reserve([name], timedelta(hours=20), until=timedelta(hours=22), reason="switch")
        [window] = client.reservations()
        self.assertEqual((window["node"], window["reason"]), (name, "switch"))
        client.drop_reservation(window["id"])
        self.assertEqual(client.reservations(), [])

    def test_shares_rounds_and_usage(self) -> None:
        client = self.client
        id = client.submit(LONG)
        self.addCleanup(client.wait, id)
        self.addCleanup(client.cancel, id)
        eventually(lambda: bool(client.round()["shares"]), lambda: str(client.round()))
        now = client.round()
        self.assertTrue(client.round(now["round"])["audit"]["capacity"]["holds"])
        self.assertIn(now["round"], [each["round"] for each in client.rounds()])
        self.assertEqual(client.round_problem(now["round"])["tenant"][0]["name"], "ada")
        self.assertTrue(client.recent_rounds(limit=3))
        self.assertEqual([each["tenant"] for each in client.fairness()["tenants"]], ["ada"])
        self.assertEqual(client.envy()["tenants"], ["ada"])
        self.assertIn("rounds", client.fairness_series("ada", rounds=5))
        self.assertIn("tenants", client.overview())
        self.assertEqual(len(client.timeline(job=id)["spans"]), 1)
        self.assertIn("loss", client.curve(id))
        usage = client.usage(since=timedelta(days=30), by="workload")
        self.assertEqual((usage["by"], usage["rows"][0]["name"]), ("workload", "ada/default"))
        self.assertTrue(client.what_if([{"change": "weight", "tenant": "ada", "weight": 2}]))
        self.assertTrue(client.what_if_shares(gpus={"a": 8}))
        self.assertEqual(client.change_settings(mechanism="cooperative", grace_s=timedelta(seconds=5))["grace_s"], 5)
        self.assertEqual(client.settings()["mechanism"], "cooperative")
        self.assertEqual(client.request("get", "/jobs", query={"limit": 1})["jobs"][0]["id"], id)


#: What a reader has beside the page: a script that reports its loss.
TRAIN = """
import os, sys
if os.environ["RANK"] == "0":
    with open(os.environ["OEF_PROGRESS_FILE"], "a") as out:
        print('{"step": 1, "loss": 0.5}', file=out)
print("trained", *sys.argv[1:])
"""


class Book(DaemonCase):
    """The examples of the book run as they are printed, one after the other."""

    options = "--gpus rtx3070=8,rtx3090=8 --round 1s"

    def test_the_page(self) -> None:
        page = (ROOT / "docs" / "src" / "python-client.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        self.assertGreater(len(blocks), 6)
        folder = self.daemon.folder
        for name in ("train.py", "evaluate.py"):
            (folder / name).write_text(TRAIN)
        self.client.submit(["true"])  # Somebody has used the cluster before.
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(blocks)], env=environment_of(self.daemon), cwd=folder,
            capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in ("trained --epochs 3", "0.01 64 finished 0.5", "has finished", "did you mean `rtx3090`?"):
            self.assertIn(words, done.stdout)


class Restart(Case):
    """A daemon that is killed, and comes back."""

    def setUp(self) -> None:
        super().setUp()
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def test_waiting_and_events_survive_a_killed_daemon(self) -> None:
        client = self.daemon.client(patience_s=PATIENCE_SECONDS)
        file = self.folder / "go"
        id = client.submit(["sh", "-c", f"while [ ! -e {file} ]; do sleep 0.05; done; echo done"])
        eventually(lambda: client.job(id).state == "running", lambda: str(client.job(id)))
        events = client.events()
        waited: List[Optional[Job]] = []
        lines: List[str] = []
        threads = [
            threading.Thread(target=lambda: waited.append(client.wait(id, PATIENCE_SECONDS))),
            threading.Thread(target=lambda: lines.extend(client.follow(id))),
        ]
        for thread in threads:
            thread.start()
        self.daemon.end(signal.SIGKILL)
        file.touch()  # It ends while nobody looks.
        self.daemon.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        self.assertEqual([job and job.state for job in waited], ["finished"])
        self.assertEqual(lines, ["done\n"])
        # The stream goes on, and says so if it has missed something.
        heard = []
        for event in events:
            heard.append(event)
            if event.topic == "reset" or (event.job, event.state) == (id, "finished"):
                break
        numbers = [event.id for event in heard if event.topic != "reset"]
        self.assertEqual(numbers, sorted(set(numbers)))
        events.close()

    def test_a_daemon_that_stays_away_is_named(self) -> None:
        client = self.daemon.client(patience_s=1)
        id = client.submit(["true"])
        client.wait(id, PATIENCE_SECONDS)
        self.daemon.end(signal.SIGTERM)
        for ask in (lambda: client.job(id), lambda: client.submit(["true"]), lambda: client.wait(id)):
            with self.assertRaises(Unreachable) as caught:
                ask()
            self.assertIn(str(self.daemon.port), str(caught.exception))
            self.assertIn(str(self.daemon.access_file), str(caught.exception))
        # It comes back with another token, on another port: the access file says both.
        token = client.access.token
        self.daemon.start(int(free_port()))
        self.assertTrue(client.job(id).is_finished)
        self.assertNotEqual(client.access.token, token)
        self.assertIn(str(self.daemon.port), client.access.server)

    def test_another_daemon_is_not_taken_for_this_one(self) -> None:
        client = self.daemon.client(patience_s=1)
        id = client.submit(["true"])
        self.daemon.end(signal.SIGTERM)
        other = Daemon()
        self.addCleanup(other.close)
        shutil.copy(other.access_file, self.daemon.access_file)
        with self.assertRaises(Unreachable):
            client.job(id)


class Elsewhere(Case):
    """A daemon behind TLS, and one on a local socket."""

    def serve(self, settings: str) -> None:
        self.folder.joinpath("oef.toml").write_text(
            f'listen = "127.0.0.1:{self.port}"\nstate_dir = "{self.folder}/cluster"\ntrust_tenants = true\n{settings}\n'
            '[gpus]\nemulated = "a=2"\n[scheduling]\nround = "1s"\n'
        )
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder)}
        log = self.folder.joinpath("log").open("wb")
        self.addCleanup(log.close)
        daemon = subprocess.Popen(
            [oef_binary(), "serve", "--config", str(self.folder / "oef.toml")], env=environment, stdout=log, stderr=log
        )
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.terminate)
        access = self.folder / "oef" / "access.json"
        eventually(
            lambda: access.exists() or daemon.poll() is not None, lambda: self.folder.joinpath("log").read_text()
        )
        self.assertIsNone(daemon.poll(), self.folder.joinpath("log").read_text())

    def setUp(self) -> None:
        super().setUp()
        self.port = free_port()

    def test_tls(self) -> None:
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=oef",
             "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, capture_output=True,
        )  # fmt: skip
        key.chmod(0o600)
        self.serve(f'[tls]\ncertificate = "{certificate}"\nkey = "{key}"\nca = "{certificate}"')
        client = Client(access_file=self.folder / "oef" / "access.json")
        self.assertTrue(client.access.server.startswith("https://"), client.access)
        self.assertEqual(client.info()["role"], "admin")
        server, token = client.access.server, client.access.token
        for ca in (str(certificate), certificate.read_text()):
            self.assertEqual(Client(server, token, ca=ca).info()["role"], "admin")
        with self.assertRaises(Unreachable) as caught:
            Client(server, token).info()
        self.assertIn("OEF_CA", str(caught.exception))

    def test_the_local_socket(self) -> None:
        path = self.folder / "oef.sock"
        self.serve(f'[socket]\npath = "{path}"')
        client = Client(f"unix://{path}")
        eventually(path.exists, lambda: self.folder.joinpath("log").read_text())
        self.assertIn(client.info()["role"], ("admin", "operator"))
        name = pwd.getpwuid(os.getuid()).pw_name
        with client.events() as events:
            id = client.submit(["echo", "hello"], tenant=name, create_tenant=True)
            self.assertEqual(client.wait(id, PATIENCE_SECONDS).state, "finished")
            self.assertEqual(next(event.job for event in events if event.topic == "job"), id)
        self.assertEqual(client.logs(id), "hello\n")
