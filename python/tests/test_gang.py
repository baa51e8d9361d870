"""Workers of a gang stop at the same step, save together, and go on together."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from typing import List, Tuple

from .harness import Case, FakeRun, end, seeded


class Gang(Case):
    def life(self, run: FakeRun, **more: str) -> Tuple[List[int], List[List[str]], str]:
        """Exit codes, output lines, and the error streams of all workers."""
        started = run.start(**more)
        codes, outputs, errors = [], [], ""
        for process in started:
            try:
                output, error = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                for each in started:
                    end(each)
                self.fail("the gang hangs")
            codes.append(process.returncode)
            outputs.append(output.splitlines())
            errors += error
        return codes, outputs, errors

    def gang(self, name: str, lengths: str, workers: int) -> FakeRun:
        return FakeRun(self, self.folder / name, "gang.py", [lengths], workers=workers)

    def test_all_stop_at_the_same_step_whoever_hears_of_it(self) -> None:
        for seed in range(60 if os.environ.get("OEF_LONG") else 6):
            with self.subTest(seed=seed):
                chance = seeded("gang", seed)
                workers = chance.choice([2, 3])
                run = self.gang(f"job-{seed}", "50", workers)
                told = f"{chance.randrange(workers)}:{chance.randrange(60)}"
                codes, outputs, errors = self.life(run, TEST_STOP=told, TEST_SYNC=str(chance.choice([1, 1, 3])))
                self.assertEqual(codes, [75] * workers, errors)
                self.assertEqual(len({lines[-1] for lines in outputs}), 1, f"{told}: {[o[-1] for o in outputs]}")
                self.assertEqual(len(run.files()), workers)

    def test_a_preempted_gang_ends_as_one_that_never_was(self) -> None:
        for lengths in ("12", "12,9"):
            with self.subTest(lengths=lengths):
                codes, outputs, errors = self.life(self.gang(f"whole-{lengths}", lengths, 2))
                self.assertEqual(codes, [0, 0], errors)
                expected = [result(lines) for lines in outputs]
                run = self.gang(f"job-{lengths}", lengths, 2)
                chance, at, lives = seeded("gang identity", lengths), 0, 0
                while True:
                    codes, outputs, errors = self.life(run, TEST_STOP=f"{chance.randrange(2)}:{at}")
                    if codes == [0, 0]:
                        break
                    self.assertEqual(codes, [75, 75], errors)
                    at += chance.randint(2, 6)
                    lives += 1
                self.assertGreater(lives, 1)
                self.assertEqual([result(lines) for lines in outputs], expected)

    def test_workers_of_unequal_length_wait_for_each_other(self) -> None:
        codes, outputs, errors = self.life(self.gang("job", "5,20,9", 3))
        self.assertEqual(codes, [0, 0, 0], errors)
        self.assertEqual([lines[-1].split()[2] for lines in outputs], ["10", "40", "18"])

    def test_a_stop_while_one_worker_is_done_saves_all(self) -> None:
        run = self.gang("job", "3,40", 2)
        codes, _, errors = self.life(run, TEST_STOP="1:30")
        self.assertEqual(codes, [75, 75], errors)
        codes, outputs, errors = self.life(run)
        self.assertEqual(codes, [0, 0], errors)
        self.assertEqual([lines[-1].split()[2] for lines in outputs], ["6", "80"])

    def test_when_one_worker_cannot_save_nobody_says_it_is_saved(self) -> None:
        run = self.gang("job", "20", 2)
        codes, _, errors = self.life(run, TEST_STOP="0:5", TEST_UNSAVABLE="1")
        self.assertEqual(codes, [1, 1], errors)
        self.assertIn("cannot be pickled", errors)
        self.assertIn("another worker could not save", errors)
        self.assertEqual(run.files(), [], "half a checkpoint is none")

    def test_when_one_worker_dies_the_others_do_not_hang(self) -> None:
        for rank in (0, 1):
            with self.subTest(rank=rank):
                run = self.gang(f"job-{rank}", "30", 2)
                codes, _, errors = self.life(run, TEST_DIE=f"{rank}:7")
                self.assertEqual(codes[rank], -9)
                self.assertEqual(codes[1 - rank], 1, errors)
                self.assertIn(f"worker {rank} is gone", errors)

    def test_a_checkpoint_without_one_workers_file_is_not_used(self) -> None:
        run = self.gang("job", "30", 2)
        for stop in ("0:5", "1:15"):
            codes, _, errors = self.life(run, TEST_STOP=stop)
            self.assertEqual(codes, [75, 75], errors)
        (run.checkpoints / run.files()[-1]).unlink()
        codes, outputs, errors = self.life(run)
        self.assertEqual(codes, [0, 0], errors)
        self.assertIn("has no file of worker 1", errors)
        self.assertLess(int(outputs[0][0]), 15)

    def test_workers_that_find_different_checkpoints_do_not_go_on(self) -> None:
        for blind in (0, 1):
            with self.subTest(blind=blind):
                run = self.gang(f"job-{blind}", "30", 2)
                codes, _, errors = self.life(run, TEST_STOP="0:5")
                self.assertEqual(codes, [75, 75], errors)
                codes, _, errors = self.life(run, TEST_BLIND=str(blind))
                self.assertEqual(codes, [1, 1], errors)
                self.assertIn(f"checkpoint number 1, and worker {blind} can use none", errors)

    def test_workers_meet_at_a_name_or_an_address(self) -> None:
        for address in ("localhost", socket.gethostname(), "::1"):
            with self.subTest(address):
                try:
                    socket.getaddrinfo(address, 1)
                    socket.create_server(("", 0), family=socket.AF_INET6).close()
                except OSError:
                    self.skipTest(f"not run: this machine does not know {address}")
                run = self.gang(f"at-{address}", "5", 2)
                run.extra = {"MASTER_ADDR": address}
                codes, _, errors = self.life(run)
                self.assertEqual(codes, [0, 0], errors)

    def test_strangers_are_sent_away(self) -> None:
        run = self.gang("job", "5", 2)
        first, second = run.start(TEST_SYNC="1", TEST_LATE="1")
        meeting = self.folder / "job" / "run-0" / ".oef-meeting-1"
        while not meeting.exists():
            self.assertIsNone(first.poll(), "worker 0 has ended")
            time.sleep(0.005)
        port = json.loads(meeting.read_text())["port"]
        self.assertEqual(meeting.stat().st_mode & 0o077, 0, "only the owner can read the word")
        for said in (b"", b"hello\n", b"0" * 500, b"0123456789abcdef0123456789abcdef 1\n", b"\xff\xfe\n"):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(said)
        (run.folder / "go").touch()
        for process in (first, second):
            _, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, errors)

    def test_another_number_of_workers_goes_on_with_the_weights(self) -> None:
        codes, _, errors = self.life(self.gang("job", "30", 2), TEST_STOP="0:9")
        self.assertEqual(codes, [75, 75], errors)
        for workers, until in ((1, "0:20"), (3, "0:40")):
            with self.subTest(workers=workers):
                again = self.gang("job", "30", workers)
                again.lives = 10 * workers
                codes, outputs, errors = self.life(again, TEST_STOP=until)
                self.assertEqual(codes, [75] * workers, errors)
                self.assertIn("and this start has", errors)
                self.assertGreater(int(outputs[0][0]), 9)


def result(lines: List[str]) -> List[str]:
    """Steps, the worker's own figure and its next random number; what all share follows the first worker alone."""
    end, _rank, steps, _weights, own, drawn = lines[-1].split()
    return [end, steps, own, drawn]
