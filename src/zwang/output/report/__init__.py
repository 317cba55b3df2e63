"""The report of a run: one self-contained HTML file, and its curves as CSV files.

| file | content |
|---|---|
| `summary.py` | the headline numbers, as in the command line's closing table |
| `figures.py` | the figures of a run, and the data of each |
| `contact.py` | figures of gaps, impacts and friction |
| `joints.py` | forces and torques of a mechanism's joints in the joints' axes |
| `svg.py` | figures as inline SVG in the page's colors, light and dark |
| `tables.py` | the curves as numbers: thinned in the page, complete as CSV |
| `interactive.py`, `charts.js` | the same pictures as numbers, drawn by uPlot in the browser |
| `uplot.js` | uPlot as published; from `make charts` |
| `page.py` | assembles `page.html` |
| `html.py` | renders templates with `skeleton.html` and `page.css`, which every page shares |
"""

from zwang.output.report.html import render as render
from zwang.output.report.page import write_report as write_report
from zwang.output.report.summary import Summary as Summary
from zwang.output.report.summary import summarize as summarize
from zwang.output.report.svg import inline_svg as inline_svg
