"use strict";
// Draws the pictures of the page with uPlot: zoom by dragging, values under the pointer, curves
// that a click on their name hides; all of it by keys, too.
(() => {
  const given = JSON.parse(document.getElementById("numbers").textContent);
  const FONT = "12px " + getComputedStyle(document.body).fontFamily;
  const HEIGHT = 190, NARROW_HEIGHT = 165, RULER = 48, SIDE = 18, FLAT = 1e-12, ZOOM = 0.5;
  const made = [];

  const color = (name) => name.startsWith("--")
    ? getComputedStyle(document.documentElement).getPropertyValue(name).trim() : name;

  const arrays = given.numbers.map(([base, text]) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Array.from({length: bytes.length / 4}, (_, i) => base + view.getFloat32(4 * i, true));
  });

  // Places of all curves in one ascending list; a place that a curve has twice, at a jump, is there
  // twice. A curve has undefined where it has no point, which does not break its line, and null
  // where its value is missing or cannot be drawn, which does.
  function joined(curves, log) {
    const shown = (y) => Number.isFinite(y) && (!log || y > 0) ? y : null;
    const many = new Map();
    for (const x of new Set(curves.map((c) => c.x))) {
      const own = new Map();
      for (const place of arrays[x]) own.set(place, (own.get(place) || 0) + 1);
      for (const [place, count] of own) many.set(place, Math.max(count, many.get(place) || 0));
    }
    const places = [], first = new Map();
    for (const place of [...many.keys()].sort((a, b) => a - b)) {
      first.set(place, places.length);
      for (let i = 0; i < many.get(place); i++) places.push(place);
    }
    return [places, ...curves.map((c) => {
      const column = new Array(places.length).fill(undefined);
      let last = NaN, at = 0;
      arrays[c.x].forEach((place, i) => {
        at = place === last ? at + 1 : first.get(place);
        last = place;
        column[at] = shown(arrays[c.y][i]);
      });
      return column;
    })];
  }

  // numbers as the drawings have them: −0.5, 2e−9
  const minus = (text) => text.replace("e+", "e").replaceAll("-", "−");
  const number = (y) => y == null ? "–" : minus(String(Number(y.toPrecision(6))));

  function labels(u, splits) {
    const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) : 1;
    const largest = Math.max(...splits.map(Math.abs));
    const digits = 1 + Math.max(0, Math.ceil(Math.log10(largest / step || 1) + 1e-9));
    return splits.map((x) => {
      const clean = Math.abs(x) < 1e-9 * step ? 0 : Number(x.toPrecision(Math.min(digits + 1, 15)));
      const size = Math.abs(clean);
      return minus(size && (size < 1e-4 || size >= 1e6) ? clean.toExponential() : String(clean));
    });
  }

  // The range that the curves need, as in the drawings: some room, whole decades on a logarithmic
  // axis, the limits that are given.
  function range(panel, low, high) {
    let [least, most] = panel.limits;
    if (low == null) [low, high] = panel.log ? [1, 10] : [0, 1];
    if (panel.log) {
      low = 10 ** Math.floor(Math.log10(least == null ? low : Math.max(low, least)) + 1e-9);
      return [low, 10 ** Math.ceil(Math.log10(Math.max(high, 10 * low)) - 1e-9)];
    }
    if (high - low <= Math.max(FLAT * Math.max(Math.abs(low), Math.abs(high)), 1e-300)) {
      const middle = (low + high) / 2, room = Math.abs(middle) / 2 || 0.5;
      [low, high] = [middle - room, middle + room];
    } else {
      const room = 0.05 * (high - low);
      [low, high] = [low - room, high + room];
    }
    low = least == null ? low : least;
    high = most == null ? high : most;
    return low < high ? [low, high] : [low, low + 1];
  }

  function decades(u, axis, low, high) {
    const first = Math.round(Math.log10(low)), last = Math.round(Math.log10(high));
    const step = Math.max(1, Math.ceil((last - first) / 6)), found = [];
    for (let i = first; i <= last; i += step) found.push(Number("1e" + i));
    return found;
  }

  // Vertical lines behind the curves, with their names.
  function marks(u, panel) {
    const {ctx, bbox} = u, dpr = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.lineWidth = dpr;
    ctx.font = FONT.replace("12px", 10.5 * dpr + "px");
    for (const mark of panel.marks) {
      ctx.strokeStyle = ctx.fillStyle = color(mark.color);
      ctx.setLineDash(mark.dash.map((d) => 1.3 * d * dpr));
      mark.x.forEach((place, i) => {
        const x = u.valToPos(place, "x", true);
        if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) return;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        const late = x > bbox.left + 0.75 * bbox.width;
        const rows = i < mark.names.length ? mark.names[i].split("\n") : [];
        ctx.textAlign = late ? "right" : "left";
        rows.forEach((row, j) => ctx.fillText(row, x + (late ? -4 : 4) * dpr,
          bbox.top + 12 * dpr * (1 + j + (i % 3) * rows.length)));
      });
    }
    ctx.restore();
  }

  // The place nearest to the pointer at which a curve has a point.
  function nearest(u, series, at) {
    const column = u.data[series];
    if (column[at] !== undefined) return at;
    let low = at, high = at;
    while (low >= 0 && column[low] === undefined) low--;
    while (high < column.length && column[high] === undefined) high++;
    if (low < 0) return high < column.length ? high : at;
    if (high >= column.length) return low;
    const x = u.data[0];
    return x[at] - x[low] < x[high] - x[at] ? low : high;
  }

  function options(panel, picture, last, name, ends) {
    const axis = {stroke: () => color("--muted"), font: FONT, labelFont: FONT,
      grid: {stroke: () => color("--rule"), width: 1},
      ticks: {stroke: () => color("--rule"), width: 1, size: 4}};
    const ink = () => color("--ink");
    return {
      cursor: {
        sync: {key: name, scales: ["x", null], setSeries: false},
        drag: {x: true, y: false, dist: 5}, y: false, dataIdx: nearest,
        points: {size: 7},
      },
      legend: {markers: {width: 2, dash: (u, i) => u.series[i].dash ? "dashed" : "solid"}},
      scales: {
        x: {time: false, range: (u, low, high) => low == null || low < high ? [low, high] : ends},
        y: {distr: panel.log ? 3 : 1, range: (u, low, high) => range(panel, low, high)},
      },
      axes: [
        {...axis, label: last ? picture.across : "", labelSize: SIDE, labelGap: 0, space: 60,
          size: last ? 24 : 6, values: last ? labels : (u, splits) => splits.map(() => "")},
        {...axis, label: panel.up, labelSize: SIDE, labelGap: 2, space: 26, stroke: axis.stroke,
          size: (u, texts) => Math.max(RULER,
            14 + 7.5 * Math.max(0, ...(texts || []).map((text) => text.length))),
          incrs: panel.whole ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] : undefined,
          splits: panel.log ? decades : undefined,
          filter: (u, splits) => splits,
          values: panel.log
            ? (u, splits) => splits.map((x) => minus("1e" + Math.round(Math.log10(x)))) : labels},
      ],
      series: [
        {label: picture.across, value: (u, x) => number(x)},
        ...panel.curves.map((curve) => ({
          label: curve.label || panel.up, stroke: () => color(curve.color),
          width: 1.25 * curve.width, alpha: curve.alpha,
          pxAlign: 0,  // points on whole pixels would make steps of a straight line
          dash: curve.dash.length ? curve.dash.map((d) => 1.3 * d) : undefined,
          points: curve.marker
            ? {show: true, size: 1.3 * curve.marker, fill: () => color(curve.color), width: 0}
            : {size: 4, fill: () => color(curve.color)},
          value: (u, y) => number(y),
        })),
      ],
      hooks: {drawAxes: [(u) => marks(u, panel)]},
    };
  }

  function build(figure, key) {
    const picture = given.pictures[key], title = figure.dataset.title;
    const place = document.createElement("div");
    place.className = "chart";
    figure.append(place);
    figure.classList.add("live");
    const back = document.createElement("button");
    back.type = "button";
    back.textContent = "Whole range";
    back.hidden = true;
    const spoken = document.createElement("p");
    spoken.className = "spoken";
    spoken.setAttribute("aria-live", "polite");
    const data = picture.panels.map((panel) => joined(panel.curves, panel.log));
    // one axis across for all panels
    const all = data.map((columns) => columns[0]).filter((x) => x.length);
    let ends = [Math.min(...all.map((x) => x[0])), Math.max(...all.map((x) => x[x.length - 1]))];
    if (ends[0] === ends[1]) ends = [ends[0] - 0.5, ends[1] + 0.5];
    const charts = [];
    const width = () => Math.max(place.clientWidth, 200);
    const heights = (last) =>
      (width() < 560 ? NARROW_HEIGHT : HEIGHT) + (last ? 24 + SIDE : 6);
    const zoom = (low, high) => charts.forEach((u) => u.setScale("x", {min: low, max: high}));
    picture.panels.forEach((panel, i) => {
      const last = i === picture.panels.length - 1;
      const holder = document.createElement("div");
      holder.className = "panel";
      holder.tabIndex = 0;
      holder.setAttribute("role", "group");
      holder.setAttribute("aria-roledescription", "interactive chart");
      holder.setAttribute("aria-label", `${title}: ${panel.up} over ${picture.across}. `
        + "Left and right move along the curves, plus and minus zoom, 0 shows all.");
      if (panel.heading) {
        const heading = document.createElement("p");
        heading.className = "heading";
        heading.textContent = panel.heading;
        place.append(heading);
      }
      place.append(holder);
      const own = options(panel, picture, last, "chart-" + key, ends);
      own.hooks.setScale = [(u, scale) => {
        if (scale !== "x") return;
        const {min, max} = u.scales.x;
        back.hidden = !(min > ends[0] || max < ends[1]);
        figure.dataset.range = `${min} ${max}`;
      }];
      const u = new uPlot({...own, width: width(), height: heights(last)}, data[i], holder);
      charts.push(u);
      // the legend stands above the curves, as in the drawing
      u.root.insertBefore(u.root.querySelector(".u-legend"), u.root.firstChild);
      u.over.addEventListener("dblclick", () => zoom(...ends));
      nameKeys(u);
      holder.addEventListener("keydown", (event) => keys(event, u, zoom, ends, spoken, holder));
    });
    zoom(...ends);
    back.addEventListener("click", () => zoom(...ends));
    charts[0].root.parentElement.append(back, spoken);
    new ResizeObserver(() => charts.forEach((u, i) => {
      const size = {width: width(), height: heights(i === charts.length - 1)};
      if (size.width !== u.width) u.setSize(size);
    })).observe(place);
    made.push(...charts);
  }

  // Names in the legend are switches, by keys as well.
  function nameKeys(u) {
    u.root.querySelectorAll(".u-series").forEach((row, i) => {
      if (i === 0) return;
      const name = row.querySelector("th");
      const tell = () => name.setAttribute("aria-pressed", String(u.series[i].show));
      name.tabIndex = 0;
      name.setAttribute("role", "button");
      name.title = "Hide or show this curve";
      tell();
      (u.hooks.setSeries ||= []).push(tell);
      name.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        u.setSeries(i, {show: !u.series[i].show});
      });
    });
  }

  function keys(event, u, zoom, ends, spoken, holder) {
    if (event.target !== holder || event.ctrlKey || event.metaKey || event.altKey) return;
    const {min, max} = u.scales.x, x = u.data[0];
    const inside = (place) => place >= min && place <= max;
    const first = x.findIndex(inside), last = x.length - 1 - [...x].reverse().findIndex(inside);
    const here = u.cursor.idx;
    const to = (i) => {
      const at = Math.min(Math.max(i, first), last);
      u.setCursor({left: u.valToPos(x[at], "x"), top: u.over.clientHeight / 2}, true, true);
      const said = u.series.slice(1).map((s, j) => s.show
        ? `${s.label} ${number(u.data[j + 1][nearest(u, j + 1, at)])}` : "").filter(Boolean);
      spoken.textContent = `${number(x[at])}: ${said.join(", ")}`;
    };
    const step = event.shiftKey ? Math.max(1, Math.round((last - first) / 20)) : 1;
    const middle = here == null ? (min + max) / 2 : x[here];
    const about = (factor) => {
      const low = Math.max(ends[0], middle - factor * (middle - min));
      const high = Math.min(ends[1], middle + factor * (max - middle));
      if (high > low) zoom(low, high);
    };
    const moves = {
      ArrowRight: () => to(here == null ? first : here + step),
      ArrowLeft: () => to(here == null ? last : here - step),
      Home: () => to(first), End: () => to(last),
      "+": () => about(ZOOM), "=": () => about(ZOOM), "-": () => about(1 / ZOOM),
      0: () => zoom(...ends), Escape: () => zoom(...ends),
    };
    if (!(event.key in moves) || first < 0) return;
    event.preventDefault();
    moves[event.key]();
  }

  document.documentElement.classList.add("scripted");
  for (const figure of document.querySelectorAll("figure[data-chart]"))
    build(figure, figure.dataset.chart);
  // colors follow the page
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    made.forEach((u) => { u.redraw(true, true); }));
  window.zwangCharts = made;
})();
