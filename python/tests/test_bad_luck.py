"""Damaged checkpoints, folders that are full, read-only or gone, and processes that are killed while they save."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path
from typing import List

from .harness import Case, FakeRun, seeded

WHOLE = 40


class Damage(Case):
    """What is found damaged is left out, and it is said."""

    def stopped(self, *at: int) -> FakeRun:
        run = self.job("train.py", "pure", "flat", str(self.folder / "out"))
        for step in at:
            self.assertEqual(run.life(TEST_STOP_STEP=str(step)), [75], run.errors)
        return run

    def newest(self, run: FakeRun) -> Path:
        return run.checkpoints / run.files()[-1]

    def test_the_last_two_are_kept(self) -> None:
        run = self.stopped(3, 7, 9, 20)
        self.assertEqual([name.split("-")[2] for name in run.files()], ["step10", "step21"])

    def test_damage_of_every_kind_leads_to_the_one_before(self) -> None:
        chance = seeded("damage")
        run = self.stopped(5, 9)
        good = self.newest(run).read_bytes()
        pristine = shutil.copytree(run.checkpoints, self.folder / "pristine")
        spot = chance.randrange(len(good))
        flipped = bytearray(good)
        flipped[spot] ^= 1 << chance.randrange(8)
        cases = {
            "empty": b"", "one byte": b"o", "half": good[: len(good) // 2], "one byte short": good[:-1],
            "longer": good + b"\0", f"bit at {spot}": bytes(flipped), "zeros": bytes(len(good)), "text": b"hello\n" * 100,
            "last byte": good[:-1] + bytes([good[-1] ^ 1]), "first byte": b"x" + good[1:],
        }
        for name, contents in cases.items():
            with self.subTest(name):
                shutil.rmtree(run.checkpoints)
                shutil.copytree(pristine, run.checkpoints)
                damaged = self.newest(run).name
                self.newest(run).write_bytes(contents)
                run.errors = ""
                # The first step after the restart is step 6, of the older checkpoint; it is stopped at once.
                self.assertEqual(run.life(TEST_STOP_STEP="6"), [75], run.errors)
                self.assertIn("cannot be used", run.errors)
                self.assertIn("going on from the checkpoint of step 6", run.errors)
                self.assertIn("step 6", " ".join(line.get("message", "") for line in run.progress()))
                self.assertNotIn(damaged, run.files(), "it has made room for the new one")

    def test_all_damaged_starts_from_the_beginning(self) -> None:
        run = self.stopped(5, 9)
        for name in run.files():
            (run.checkpoints / name).write_bytes(b"garbage")
        self.assertEqual(run.life(), [0], run.errors)
        self.assertIn("starting from the beginning", run.errors)
        self.assertIn(f"{WHOLE} 4", (self.folder / "out").read_text())

    def test_foreign_files_are_left_alone(self) -> None:
        run = self.stopped(5)
        (run.checkpoints / "notes.txt").write_text("mine")
        (run.checkpoints / "oef-notes.ckpt").write_text("mine")
        self.assertEqual(run.life(TEST_EVERY="0.000001"), [0], run.errors)
        self.assertEqual((run.checkpoints / "notes.txt").read_text(), "mine")
        self.assertEqual((run.checkpoints / "oef-notes.ckpt").read_text(), "mine")


class Killed(Case):
    """kill -9 at any point of a save leaves a state that can be loaded, and none that is older than the last good one."""

    def test_at_every_kind_of_point(self) -> None:
        points = [f"{kind}:{n}" for kind in ("sync", "rename", "after-rename") for n in (1, 2, 3, 4)]
        points += [f"remove:{n}" for n in (1, 2, 3)]
        points += [f"write:{n}" for n in range(1, 16)]
        for point in points:
            with self.subTest(point):
                self.check(point)

    def check(self, point: str) -> None:
        run = FakeRun(self, self.folder / point.replace(":", "-"), "saver.py", ["6"])
        [process] = run.start(TEST_KILL=point)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGKILL, f"{point} was never reached")
        done = output.count("did")
        [process] = run.start()
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(errors, "", "a kill leaves nothing that has to be complained about")
        resumed = int(output.split()[1])
        # The save after a step may be lost with its process; the one before must not.
        self.assertGreaterEqual(resumed, done - 1)
        left = [name for name in os.listdir(run.checkpoints) if not name.endswith(".ckpt")]
        self.assertEqual(left, [], "half-written files are cleared away")


class Folders(Case):
    """Folders that cannot be written to."""

    def check_trains_on(self, run: FakeRun, said: str) -> None:
        """Training comes to its end without checkpoints, and a stop is answered honestly."""
        self.assertEqual(run.life(TEST_EVERY="0.000001"), [0], run.errors)
        self.assertIn(said, run.errors)
        run.errors = ""
        self.assertEqual(run.life(TEST_STOP_STEP="5"), [1], run.errors)
        self.assertIn("the work since the last checkpoint is lost", run.errors)
        self.assertIn("told to stop at step 6", run.errors)

    def run_in(self, folder: Path) -> FakeRun:
        return self.job("train.py", "pure", "flat", str(self.folder / "out"), checkpoint_dir=folder)

    def test_a_file_in_place_of_the_folder(self) -> None:
        place = self.folder / "file"
        place.write_text("precious")
        self.check_trains_on(self.run_in(place), "cannot be saved in")
        self.assertEqual(place.read_text(), "precious")

    def test_a_missing_parent(self) -> None:
        self.check_trains_on(self.run_in(self.folder / "no" / "such" / "folder"), "no such file or directory")
        self.assertFalse((self.folder / "no").exists(), "a file system that is not there is not made up")

    def test_a_read_only_folder(self) -> None:
        # Root may write anywhere but where nobody can.
        place = Path("/proc/self") if os.geteuid() == 0 else self.folder / "closed"
        if os.geteuid() != 0:
            place.mkdir(mode=0o500)
        self.check_trains_on(self.run_in(place), "checkpoints cannot be written to")

    def test_a_limit_on_file_size(self) -> None:
        run = self.run_in(self.folder / "small")
        # Inherited by the workers: every write beyond it fails, as on a full disk.
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
        try:
            self.check_trains_on(run, "file too large")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertEqual(os.listdir(run.checkpoints), [])

    def test_a_folder_that_goes_away_is_made_again(self) -> None:
        run = self.run_in(self.folder / "fleeting")
        self.assertEqual(run.life(TEST_STOP_STEP="5"), [75])
        shutil.rmtree(run.checkpoints)
        self.assertEqual(run.life(TEST_STOP_STEP="5"), [75])
        self.assertEqual(len(run.files()), 1)


class FullDisk(Case):
    """A disk that is really full, where this machine lets us mount one."""

    def setUp(self) -> None:
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(self.disk)], capture_output=True, check=False
        )
        if mounted.returncode != 0:
            self.skipTest("not run: this user may not mount a small file system")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.disk)], check=True)

    def saver(self, steps: int) -> "subprocess.CompletedProcess[str]":
        run = self.job("saver.py", str(steps), checkpoint_dir=self.disk / "checkpoints")
        [process] = run.start()
        output, errors = process.communicate(timeout=60)
        return subprocess.CompletedProcess([], process.returncode, output, errors)

    def serials(self) -> List[str]:
        return sorted(path.name.split("-")[1] for path in (self.disk / "checkpoints").glob("*.ckpt"))

    def test_the_older_checkpoint_makes_room(self) -> None:
        # A checkpoint has 0.4 MB: two fit, a third does not.
        done = self.saver(6)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no space left on device", done.stderr)
        self.assertIn("removing the older checkpoint to make room", done.stderr)
        self.assertGreaterEqual(len(self.serials()), 1)
        again = self.saver(6)
        self.assertEqual((again.returncode, again.stdout.split()[:2]), (0, ["from", "6"]), again.stderr)

    def test_a_disk_without_any_room(self) -> None:
        others = os.open(self.disk / "others", os.O_WRONLY | os.O_CREAT)
        self.addCleanup(os.close, others)
        try:
            while True:
                os.write(others, bytes(4096))
        except OSError:
            pass
        done = self.saver(3)
        self.assertEqual(done.returncode, 0)
        self.assertIn("no space left on device", done.stderr)
        leftovers = list((self.disk / "checkpoints").glob("*")) if (self.disk / "checkpoints").exists() else []
        self.assertEqual(leftovers, [])
