"""Parts of the client that need no daemon: where it looks for one, sweeps, times, and the whole interface."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import unittest
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union

import oef.client
from oef.client import AccessError, Client, JobSpec, Refused, Unexpected, Unreachable
from oef.client._access import find
from oef.client._base import _query, _segment
from oef.client._models import _instant, moment
from oef.client._sweep import called, expand

from .daemon import ROOT, Proxy
from .harness import Case, free_port, plain_environment

OPENAPI: Dict[str, Any] = json.loads((ROOT / "docs" / "openapi.json").read_text())
SCHEMAS = OPENAPI["components"]["schemas"]

#: What scripts do not need, and why.
LEFT_OUT = {
    ("POST", "/login-codes"): "logs a browser in: `oef open`",
    ("GET", "/openapi.json"): "the document itself",
    ("GET", "/jobs/{id}/terminal"): "a terminal: `oef run`",
    ("POST", "/jobs/{id}/terminal"): "a terminal: `oef run`",
    ("POST", "/jobs/{id}/shells"): "a shell: `oef shell`",
    ("GET", "/jobs/{id}/terminal/job"): "the job's side of it",
    ("POST", "/jobs/{id}/terminal/job"): "the job's side of it",
}


class Interface(unittest.TestCase):
    """The client has what docs/openapi.json has."""

    def test_every_route_is_used_or_left_out_for_a_reason(self) -> None:
        known = {(method.upper(), path) for path, each in OPENAPI["paths"].items() for method in each}
        used = set(routes_used())
        self.assertEqual(used - known, set(), "the interface has no such route")
        self.assertEqual(known - used - set(LEFT_OUT), set(), "add a method for it, or a reason to LEFT_OUT")
        self.assertEqual(set(LEFT_OUT) & used, set(), "it is used")
        self.assertEqual(set(LEFT_OUT) - known, set(), "the interface no longer has it")

    def test_a_job_has_all_fields(self) -> None:
        self.assertEqual({each.name for each in dataclasses.fields(JobSpec)}, properties("JobSubmit"))
        self.assertEqual(arguments(Client.edit) - {"job"}, properties("JobPatch") - {"held"})

    def test_methods_have_all_fields(self) -> None:
        cases = [
            (Client.create_tenant, "TenantCreate", {"name"}),
            (Client.set_group, "GroupPut", {"name"}),
            (Client.set_workload, "WorkloadPut", {"tenant", "name"}),
            (Client.create_token, "TokenCreate", set()),
            (Client.add_notification, "NotificationCreate", set()),
        ]
        for method, schema, names in cases:
            with self.subTest(schema):
                self.assertEqual(arguments(method) | names, properties(schema) | names)
        self.assertEqual(arguments(Client.submit_all) - {"key", "create_tenant"}, properties("JobBatch"))
        node = {"name", "health", "from", "nodes", "start"}
        self.assertEqual((arguments(Client.drain_node) | arguments(Client.reserve)) - node, properties("NodePatch") - node)

    def test_lists_have_all_filters(self) -> None:
        cases = [
            (Client.jobs, "/jobs"),
            (Client.usage, "/usage"),
            (Client.timeline, "/timeline"),
            (Client.fairness_series, "/fairness/series"),
            (Client.recent_rounds, "/rounds/recent"),
            (Client.events, "/events"),
        ]
        for method, path in cases:
            query = {each["name"] for each in OPENAPI["paths"][path]["get"]["parameters"] if each["in"] == "query"}
            pages = {"after", "limit"} if path == "/jobs" else set()
            with self.subTest(path):
                self.assertEqual(arguments(method) - {"page_size"}, query - pages)

    def test_states_are_those_of_the_interface(self) -> None:
        self.assertLess(oef.client.ENDED, set(SCHEMAS["JobState"]["enum"]))

    def test_training_scripts_do_not_import_it(self) -> None:
        code = "import sys, oef; sys.exit('oef.client' in sys.modules or 'http.client' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], env=plain_environment(), check=False).returncode, 0)


def routes_used() -> Iterator[Tuple[str, str]]:
    """The method and the path of every request in the source, as it is written there."""
    for path in sorted(Path(oef.client.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                words = [each.value for each in node.args if isinstance(each, ast.Constant)]
                if getattr(node.func, "attr", "") == "_pages":
                    words.insert(0, "GET")
                if len(words) >= 2 and str(words[1]).startswith("/") and words[0] in METHODS:
                    yield words[0], words[1]


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def properties(schema: str) -> Set[str]:
    return set(SCHEMAS[schema]["properties"])


def arguments(method: Any) -> Set[str]:
    return set(inspect.signature(method).parameters) - {"self"}


class Finding(Case):
    """The daemon is found as the command line finds it."""

    FILE = '{"server": "http://127.0.0.1:7733/", "token": "of the file"}'

    def ask(self, content: Optional[str] = FILE, mode: int = 0o600, **env: str) -> Any:
        file = self.folder / "oef" / "access.json"
        file.parent.mkdir(exist_ok=True)
        if content is not None:
            file.write_text(content)
            file.chmod(mode)
        return find({"XDG_STATE_HOME": str(self.folder), **env}, str(self.folder / "socket"))

    def refused(self, *arguments: Any, **env: str) -> str:
        with self.assertRaises(AccessError) as caught:
            self.ask(*arguments, **env)
        return str(caught.exception)

    def test_the_environment_goes_before_the_file(self) -> None:
        cases: Any = [
            ({}, "http://127.0.0.1:7733", "of the file"),
            ({"OEF_SERVER": "host:1/", "OEF_TOKEN": "mine"}, "http://host:1", "mine"),
            ({"OEF_TOKEN": "mine"}, "http://127.0.0.1:7733", "mine"),
            ({"OEF_SERVER": "127.0.0.1:7733"}, "http://127.0.0.1:7733", "of the file"),
            ({"OEF_SERVER": "unix:///tmp/s"}, "unix:///tmp/s", ""),
            ({"OEF_SERVER": "unix:/tmp/s"}, "unix:///tmp/s", ""),
            ({"OEF_SERVER": "", "OEF_TOKEN": ""}, "http://127.0.0.1:7733", "of the file"),
        ]
        for env, server, token in cases:
            access = self.ask(**env)
            self.assertEqual((access.server, access.token), (server, token), env)
        self.assertNotIn("of the file", repr(self.ask()))

    def test_the_token_of_one_server_is_not_shown_to_another(self) -> None:
        self.assertIn("no token for https://elsewhere", self.refused(OEF_SERVER="https://elsewhere"))

    def test_an_access_file_can_be_named(self) -> None:
        other = self.folder / "other.json"
        other.write_text('{"server": "http://other:1", "token": "t", "ca": "/ca.pem"}')
        other.chmod(0o600)
        access = self.ask(OEF_ACCESS=str(other))
        self.assertEqual((access.server, access.ca, access.source), ("http://other:1", "/ca.pem", str(other)))

    def test_a_bad_file_is_named_with_the_way_out(self) -> None:
        for mode in (0o644, 0o640, 0o604):
            self.assertIn("chmod 600", self.refused(self.FILE, mode))
        for content in ("{", "[]", "{}", '{"server": 3, "token": 4}', "null"):
            self.assertIn("access.json is not an access file", self.refused(content), content)

    def test_what_was_tried_is_said(self) -> None:
        said = self.refused(None)
        for word in ("OEF_SERVER", str(self.folder / "oef/access.json"), str(self.folder / "socket"), "oef up"):
            self.assertIn(word, said)

    def test_an_address_that_is_none(self) -> None:
        for server in ("ftp://x", "http://", "http://host:port", "https://"):
            with self.assertRaisesRegex(AccessError, "not an address", msg=server):
                Client(server, "t")

    def test_nobody_listens(self) -> None:
        for server in (f"http://127.0.0.1:{free_port()}", f"unix://{self.folder}/none"):
            with self.assertRaises(Unreachable) as caught:
                Client(server, "t").info()
            self.assertIn(server, str(caught.exception))
            self.assertFalse(caught.exception.was_sent)

    def test_a_token_that_cannot_be_sent(self) -> None:
        proxy = Proxy(1, [])
        self.addCleanup(proxy.close)
        for token in ("a\r\nX: y", "grüße"):
            with self.assertRaisesRegex(AccessError, "characters"):
                Client(proxy.address, token).info()


class Answers(Case):
    """Servers that answer in strange ways."""

    def serve(self, *answers: Union[bytes, Callable[[], bytes]]) -> str:
        """The address of a server that gives these answers, one for each connection, and keeps what was asked."""
        server = socket.create_server(("127.0.0.1", 0))
        self.asked: List[bytes] = []

        def serve() -> None:
            for each in answers:
                try:
                    connection = server.accept()[0]
                except OSError:
                    return  # The test is over.
                with connection:
                    self.asked.append(connection.recv(65536))
                    connection.sendall(each if isinstance(each, bytes) else each())

        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(server.close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown, socket.SHUT_RDWR)
        return "127.0.0.1:%d" % server.getsockname()[1]

    def ask(self, *answers: bytes, method: str = "GET") -> Any:
        return Client(self.serve(*answers), "t", patience_s=5).request(method, "/x")

    def test_a_key_is_not_sent_with_another_token(self) -> None:
        """The daemon takes a key once for each token. It may have carried out what it did not answer."""
        file = self.folder / "access.json"

        def restarted() -> bytes:
            write("new")
            return b""

        def write(token: str) -> None:
            file.write_text(json.dumps({"server": address, "token": token, "state": "/s"}))
            file.chmod(0o600)

        done, void = answer(201, '{"ids": [1], "notes": []}'), answer(401, problem(401, "unauthorized"))
        cases: Any = [
            (lambda client: client.info(), [restarted, done], [b"old", b"new"], None),
            (lambda client: client.submit(["true"], tenant="ada"), [restarted, void, done], [b"old", b"old"], Refused),
            (lambda client: client.request("POST", "/x"), [restarted, done], [b"old"], Unreachable),
        ]
        for ask, answers, expected, error in cases:
            address = self.serve(*answers)
            write("old")
            with self.assertRaises(error) if error else contextlib.nullcontext():
                ask(Client(access_file=file, patience_s=5))
            self.assertEqual([re.findall(rb"Bearer (\w+)", each)[0] for each in self.asked], expected)

    def test_a_busy_daemon_says_when_to_come_back(self) -> None:
        busy = answer(429, problem(429, "too_many_requests"), "Retry-After: 1")
        for method in ("GET", "POST"):  # Nothing was done, so all can be sent again.
            self.assertEqual(self.ask(busy, answer(200, "[1]"), method=method), [1])

    def test_only_what_is_safe_is_sent_again(self) -> None:
        stopping = answer(503, problem(503, "unavailable"))
        for cut in (stopping, b"", b"HTTP/1.1 200 OK\r\ncontent-le", answer(200, "[1]")[:-2]):
            with self.subTest(cut):
                self.assertEqual(self.ask(cut, answer(200, "[1]")), [1])
                with self.assertRaises((Refused, Unreachable)):
                    self.ask(cut, answer(200, "[1]"), method="POST")
                self.assertEqual(len(self.asked), 1)

    def test_other_servers(self) -> None:
        cases = [
            (answer(404, "<html>none</html>"), "404 without a problem document: <html>none</html>"),
            (answer(200, "<html>"), "it begins with: <html>"),
            (answer(302, "moved", "Location: http://127.0.0.1:1/"), "302 without"),
            (answer(500, "[]"), "500 without"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "not HTTP"),
        ]
        for reply, message in cases:
            with self.subTest(message), self.assertRaisesRegex(Unexpected, message):
                self.ask(reply, reply)
            self.assertEqual(len(self.asked), 1)

    def test_events_that_nobody_heard_are_a_reset(self) -> None:
        """Without the number of a last event nobody knows what happened between two connections."""
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: oef\nretry: 2000\n\n"
        said = b'{"id": 7, "at": "2026-11-16T16:56:38Z",\r\ndata:"topic": "round", "message": "round 1 began"}'
        event = b"id: 7\r\nevent: round\r\ndata: " + said + b"\r\n\r\n"
        with Client(self.serve(head + event[:-2], head + event, head), "t", patience_s=5).events() as events:
            self.assertEqual([(each.topic, each.id) for each in (next(events), next(events))], [("reset", 0), ("round", 7)])
            with self.assertRaisesRegex(Unreachable, "no answer in time"):
                events.next_before(time.monotonic() + 1)
        self.assertNotIn(b"Last-Event-ID", self.asked[1])
        self.assertIn(b"Last-Event-ID: 7", self.asked[2])

    def test_a_number_that_is_none_is_not_sent(self) -> None:
        with self.assertRaises(ValueError):
            Client("127.0.0.1:1", "t").request("POST", "/x", body={"weight": float("nan")})

    def test_no_answer_in_time(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = Client("127.0.0.1:%d" % server.getsockname()[1], "t", timeout_s=0.2, patience_s=0.1)
            with self.assertRaisesRegex(Unreachable, "no answer in time"):
                client.info()


def answer(status: int, body: str, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} x", f"content-length: {len(body)}", *headers, "", body]
    return "\r\n".join(lines).encode()


def problem(status: int, kind: str) -> str:
    return json.dumps({"type": kind, "status": status, "title": "x", "detail": "later"})


class Sweeps(unittest.TestCase):
    def test_all_combinations_the_last_fastest(self) -> None:
        template = JobSpec(
            ["python", "train.py", "--lr={lr}", "{n}"], env={"N": "{n}"}, workdir=Path("/runs/{lr}"), labels={"by": "ada"}
        )
        jobs = expand(template, {"lr": [0.1, 1e-05], "n": ["x", "y"]})
        self.assertEqual([job.command[2:] for job in jobs if job.command], [
            ["--lr=0.1", "x"], ["--lr=0.1", "y"], ["--lr=1e-05", "x"], ["--lr=1e-05", "y"],
        ])  # fmt: skip
        last = jobs[-1]
        self.assertEqual(last.labels, {"by": "ada", "lr": "1e-05", "n": "y"})
        self.assertEqual((last.env, last.workdir, last.name), ({"N": "y"}, "/runs/1e-05", "train.py lr=1e-05 n=y"))

    def test_braces_that_are_no_placeholder_stay(self) -> None:
        text = 'echo {x} {{x}} ${x} {"a": 1} {} {1} {other}'
        [job] = expand(JobSpec(script=text), {"x": [7]})
        self.assertEqual(job.script, 'echo 7 {x} ${x} {"a": 1} {} {1} {other}')

    def test_mistakes_are_refused(self) -> None:
        cases: Any = [
            (["run", "{lr}", "{epochs}"], {"lr": [1]}, r"\{epochs\} is not swept"),
            (["run"], {"lr": [1]}, "changes nothing"),
            (["run", "{lr}"], {"lr": []}, "no values"),
            (["run", "{lr}"], {"lr": [1, "1"]}, "twice"),
            (["run", "{lr}"], {"lr": [""]}, "empty"),
            (["run", "{lr}"], {"l r": [1]}, "placeholder"),
        ]
        for command, values, message in cases:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                expand(JobSpec(command), values)
        with self.assertRaisesRegex(ValueError, "a label and a sweep"):
            expand(JobSpec(["run", "{lr}"], labels={"lr": 1}), {"lr": [1]})
        with self.assertRaisesRegex(TypeError, "not the text"):
            expand(JobSpec(["run", "{lr}"]), {"lr": "0.1,0.2"})

    def test_a_sweep_is_called_after_its_script(self) -> None:
        cases: Any = [
            (JobSpec(["python", "-u", "/x/train.py", "--a"]), "train.py"),
            (JobSpec(["torchrun", "-m", "pkg.train"]), "pkg.train"),
            (JobSpec(["./train", "now"]), "train"),
            (JobSpec(script="true"), "script"),
            (JobSpec(["x"], name="mine"), "mine"),
            (JobSpec(["x"], name="mine {lr}"), "x"),
        ]
        for spec, name in cases:
            self.assertEqual(called(spec), name)


class Values(unittest.TestCase):
    def test_times(self) -> None:
        at = datetime(2026, 11, 16, 16, 56, 38, 100000, timezone.utc)
        self.assertEqual(_instant("2026-11-16T16:56:38.1Z"), at)
        self.assertEqual(_instant("2026-11-16T16:56:38.100000999Z"), at)
        self.assertEqual(_instant("2026-11-16T16:56:38Z"), at.replace(microsecond=0))
        self.assertEqual(moment(at.astimezone(timezone(timedelta(hours=2)))), "2026-11-16T16:56:38.100000Z")
        self.assertEqual(moment(date(2026, 11, 1)), "2026-11-01T00:00:00Z")
        soon, ago = moment(timedelta(hours=1)), moment(timedelta(hours=1), is_past=True)
        assert soon is not None and ago is not None
        self.assertAlmostEqual((_instant(soon) - _instant(ago)).total_seconds(), 7200, delta=60)

    def test_a_job_in_the_form_of_the_interface(self) -> None:
        spec = JobSpec(
            ["python", Path("a b.py"), 0.1], labels={"lr": 0.1}, env={"N": 3}, max_run_s=timedelta(hours=2),
            after=[17, {"job": 18, "when": "failed"}], not_before=date(2026, 1, 1), held=False,
        )  # fmt: skip
        self.assertEqual(spec.document(), {
            "command": ["python", "a b.py", "0.1"], "labels": {"lr": "0.1"}, "env": {"N": "3"}, "max_run_s": 7200.0,
            "after": [{"job": 17}, {"job": 18, "when": "failed"}], "not_before": "2026-01-01T00:00:00Z", "held": False,
            "workdir": os.getcwd(),
        })  # fmt: skip
        for wrong in (JobSpec("python train.py"), JobSpec(["x"], types="a100"), JobSpec(["x"], warm="torch")):
            with self.assertRaisesRegex(TypeError, "list of words"):
                wrong.document()

    def test_a_misspelt_field_is_named(self) -> None:
        with self.assertRaisesRegex(TypeError, "no field `worker`; there is workers"):
            JobSpec(["x"]).with_fields(worker=2)

    def test_names_cannot_leave_their_segment(self) -> None:
        cases = [("vision", "vision"), ("a/b", "a%2Fb"), ("..", "%2E%2E"), ("a?b#c%", "a%3Fb%23c%25"), ("\r\n", "%0D%0A")]
        for name, expected in cases:
            self.assertEqual(_segment(name), expected)
        with self.assertRaises(ValueError):
            _segment("")
        self.assertEqual(_query({"a": "b&c d", "all": True, "none": None, "n": 0}), "?a=b%26c%20d&all=true&n=0")
