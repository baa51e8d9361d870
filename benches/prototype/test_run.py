#!/usr/bin/env python3
"""The prototype gives the paper's numbers: python3 benches/prototype/test_run.py"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).with_name("run.py")


def problem(rows, weights=None):
    types = [f"g{j + 1}" for j in range(len(rows[0]))]
    return {
        "gpu": [{"type": t, "count": 1} for t in types],
        "tenant": [
            {
                "name": f"u{i + 1}",
                "weight": 1.0 if weights is None else weights[i],
                "workload": [{"name": "default", "throughput": dict(zip(types, row))}],
            }
            for i, row in enumerate(rows)
        ],
    }


def run(given, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.json"
        path.write_text(json.dumps(given))
        command = [sys.executable, str(RUN), "--problem", str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done


def total(given, *options):
    done = run(given, *options)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["status"] == "optimal" and result["solver"] == "ECOS", result
    assert result["seconds"] >= result["solve_seconds"] > 0.0, result
    return result["total"]


class Prototype(unittest.TestCase):
    def test_cooperative_in_both_forms(self):
        for rows, want in [([[1, 2], [1, 3], [1, 4]], 4.5), ([[1, 2], [1, 5]], 5.25)]:
            for form in ["per-pair", "vectorised"]:
                self.assertAlmostEqual(total(problem(rows), "--form", form), want, places=6)

    def test_noncooperative_equalises_by_weight(self):
        rows = [[1, 2], [1, 5]]
        self.assertAlmostEqual(total(problem(rows), "--mechanism", "noncooperative"), 30 / 7, places=6)
        weighted = total(problem(rows, [1, 2]), "--mechanism", "noncooperative")
        self.assertAlmostEqual(weighted, 5.0, places=6)

    def test_the_unit_of_a_row_does_not_matter(self):
        self.assertAlmostEqual(total(problem([[10, 20], [3, 15]])), 5.25, places=6)

    def test_what_it_cannot_do_it_says(self):
        done = run(problem([[1, 0], [1, 5]]))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("lacks a gpu type", done.stderr)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
