#!/usr/bin/env python3
"""Draws docs/src/university-lab.svg from a run of the shipped example.

    cargo build --release -p oef-cli && python3 scripts/picture.py target/release/oef

Needs nothing but Python 3. Every figure in the picture comes from `oef share --json`.
"""

import json
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = "examples/university-lab.toml"
OUT = ROOT / "docs/src/university-lab.svg"

MECHANISMS = ["efficiency", "incentive", "cooperative", "nash", "gavel", "gandiva-fair", "noncooperative", "max-min"]
# Dark enough on white and told apart by the colour-blind (Okabe and Ito).
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"]

WIDTH, LEFT, RIGHT = 860, 136, 250
TOP, ROW, BOTTOM = 70, 44, 62
DOT = 4.2
# Dots that would cover each other stand above each other.
LEVELS = [0.0, -8.0, 8.0, -16.0, 16.0, 24.0, -24.0]


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target/release/oef")
    results = {name: share(binary, name) for name in MECHANISMS}
    OUT.write_text(draw(results))
    print(f"wrote {OUT.relative_to(ROOT)}")
    for name, result in results.items():
        ratios = {t["name"]: round(t["throughput"] / t["equal_split"], 3) for t in result["tenants"]}
        print(f"{name:15} {result['total']:8.3f}  {ratios}")


def share(binary, mechanism):
    command = [binary, "share", PROBLEM, "--mechanism", mechanism, "--json"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def draw(results):
    base = results["max-min"]["total"]
    tenants = [t["name"] for t in results["max-min"]["tenants"]]
    ratio = {
        (name, t["name"]): t["throughput"] / t["equal_split"]
        for name, result in results.items()
        for t in result["tenants"]
    }
    right = max(2.0, max(ratio.values()) * 1.04)
    height = TOP + ROW * len(results) + BOTTOM
    plot = WIDTH - LEFT - RIGHT

    def x(value):
        return LEFT + plot * value / right

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="system-ui, sans-serif" font-size="13" role="img"'
        ' aria-label="Throughput of each tenant over its equal split, and the total, under each mechanism">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(LEFT, 22, "each tenant&#8217;s throughput, as a multiple of its equal split", weight="600"),
        text(WIDTH - RIGHT + 22, 22, "total, against max-min", weight="600"),
    ]
    tick = 0.0
    step = 1.0 if right > 3 else 0.5
    bottom = TOP + ROW * len(results) - ROW / 2 + 8
    while tick <= right + 1e-9:
        strong = abs(tick - 1.0) < 1e-9
        stroke = 'stroke="#222222" stroke-width="1.4"' if strong else 'stroke="#dddddd"'
        out.append(f'<line x1="{x(tick):.1f}" y1="{TOP - 20}" x2="{x(tick):.1f}" y2="{bottom:.1f}" {stroke}/>')
        out.append(text(x(tick), TOP - 26, f"{tick:g}", anchor="middle", fill="#222222" if strong else "#777777"))
        tick += step
    most = max(result["total"] for result in results.values())
    for row, (name, result) in enumerate(results.items()):
        y = TOP + ROW * row
        out.append(text(LEFT - 14, y + 4.5, escape(name), anchor="end"))
        out += dots(name, tenants, ratio, x, y)
        length = (RIGHT - 90) * result["total"] / most
        out.append(f'<rect x="{WIDTH - RIGHT + 22}" y="{y - 8}" width="{length:.1f}" height="16" fill="#c9d3dc"/>')
        gain = 100.0 * (result["total"] / base - 1.0)
        label = f"{result['total']:.2f}" if name == "max-min" else f"{result['total']:.2f} ({gain:+.1f} %)"
        out.append(text(WIDTH - RIGHT + 28, y + 4.5, label))
    out += legend(tenants, height)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def dots(name, tenants, ratio, x, y):
    """One dot per tenant; its height in the row means nothing."""
    out, placed = [], []
    for value, tenant in sorted((ratio[name, t], t) for t in tenants):
        at = x(value)
        shift = 0.0
        for candidate in LEVELS:
            if all((at - px) ** 2 + (candidate - py) ** 2 >= 60.0 for px, py in placed):
                shift = candidate
                break
        placed.append((at, shift))
        colour = COLOURS[tenants.index(tenant) % len(COLOURS)]
        title = f"<title>{escape(tenant)} under {escape(name)}: {value:.3f}</title>"
        out.append(f'<circle cx="{at:.1f}" cy="{y + shift:.1f}" r="{DOT}" fill="{colour}" fill-opacity="0.92">{title}</circle>')
    return out


def legend(tenants, height):
    out, at = [], 24
    for i, tenant in enumerate(tenants):
        out.append(f'<circle cx="{at}" cy="{height - 34}" r="{DOT}" fill="{COLOURS[i % len(COLOURS)]}"/>')
        out.append(text(at + 11, height - 29.5, escape(tenant)))
        at += 34 + 8 * len(tenant)
    note = "8 rtx3070, 8 rtx3080, 4 rtx3090; illustrative throughputs; left of 1: better off with an equal split"
    out.append(text(24, height - 9, note, fill="#777777", size=12))
    return out


def text(x, y, content, anchor="start", fill="#222222", weight=None, size=None):
    extra = (f' font-weight="{weight}"' if weight else "") + (f' font-size="{size}"' if size else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"{extra}>{content}</text>'


if __name__ == "__main__":
    main()
