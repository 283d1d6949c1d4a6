"""python3 tools/docs/chart.py [--check]: draws docs/images/speed.svg from the table of tokens/s in README.md.

The table has a row a measurement and a column an engine; the longest bar of a row is the fastest engine. A range such as
"316 to 340" is drawn by its upper end. Standard library only.
"""

import argparse
import html
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
CHART = ROOT / "docs/images/speed.svg"
COLOURS = ("#e4572e", "#76808c", "#aab4be")
WIDTH, LABEL, BAR, GAP = 860, 190, 15, 18
# Medium tones, which are legible on light and on dark pages.
STYLE = "text{font:13px system-ui,sans-serif;fill:#7d8590}.name{font-weight:600}.first{fill:#e4572e;font-weight:600}"


def read_table(text):
    """The engines, and for each measurement its name and one number an engine."""
    lines = re.search(r"^\| tokens/s .*?(?=\n\n)", text, re.M | re.S)[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    number = lambda cell: float(cell.split(" to ")[-1].replace(",", ""))
    return rows[0][1:], [(row[0], [(cell, number(cell)) for cell in row[1:]]) for row in rows[2:]]


def draw(engines, rows):
    parts, y = [], 12
    x = LABEL
    for i, engine in enumerate(engines):
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[i]}"/>')
        parts.append(f'<text x="{x + 18}" y="{y + 11}">{html.escape(engine)}</text>')
        x += 40 + 8 * len(engine)
    y += 30
    for name, values in rows:
        longest = max(value for _, value in values)
        middle = y + len(values) * BAR / 2 + 4
        parts.append(f'<text class="name" x="0" y="{middle:g}">{html.escape(name)}</text>')
        for i, (cell, value) in enumerate(values):
            width = round((WIDTH - LABEL - 110) * value / longest, 1)
            parts.append(f'<rect x="{LABEL}" y="{y}" width="{width:g}" height="{BAR - 2}" fill="{COLOURS[i]}"/>')
            kind = ' class="first"' if i == 0 else ""
            parts.append(f'<text{kind} x="{LABEL + width + 6:g}" y="{y + BAR - 4}">{html.escape(cell)}</text>')
            y += BAR
        y += GAP
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img" '
            f'aria-label="Tokens a second of {html.escape(", ".join(engines))}"><style>{STYLE}</style>')
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail when the chart is not up to date")
    arguments = parser.parse_args()
    chart = draw(*read_table(README.read_text()))
    if not arguments.check:
        CHART.parent.mkdir(exist_ok=True)
        CHART.write_text(chart)
    elif not CHART.exists() or CHART.read_text() != chart:
        sys.exit("docs/images/speed.svg is out of date; run python3 tools/docs/chart.py.")


if __name__ == "__main__":
    main()
