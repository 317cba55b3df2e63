"""The report of a run: one HTML file that needs nothing beside it, and its curves as CSV files.

| file | what |
|---|---|
| `summary.py` | the numbers that a reader wants first, as in the command line's closing table |
| `figures.py` | which figures a run gets, and of what |
| `joints.py` | forces and torques of a mechanism's joints in their own axes |
| `svg.py` | figures as inline SVG in the page's colors, light and dark |
| `tables.py` | the curves as numbers: thinned in the page, complete as CSV |
| `interactive.py`, `charts.js` | the same pictures as numbers, drawn by uPlot in the browser |
| `uplot.js` | uPlot as published; from `make charts` |
| `page.py` | everything put into `page.html` |
| `html.py` | templates with `skeleton.html` and `page.css`, which every page shares |
"""

from zwang.output.report.html import render as render
from zwang.output.report.page import write_report as write_report
from zwang.output.report.summary import Summary as Summary
from zwang.output.report.summary import summarize as summarize
from zwang.output.report.svg import inline_svg as inline_svg
