"use strict";
// Parallel coordinates of the cases, filters for each column, and the table of what is left.
(() => {
  const { names, units, rows } = JSON.parse(document.getElementById("data").textContent);
  const columns = names.map((name, i) => {
    const numbers = rows.map(row => row[i]).filter(x => typeof x === "number");
    return {
      name,
      title: units[i] ? `${name} [${units[i]}]` : name,
      i,
      numeric: numbers.length > 0,
      low: numbers.reduce((a, b) => Math.min(a, b), Infinity),
      high: numbers.reduce((a, b) => Math.max(a, b), -Infinity),
      log: false,
      from: -Infinity,
      to: Infinity,
      text: "",
    };
  });
  // positive values over more than three decades are drawn by their logarithm
  for (const c of columns) c.log = c.low > 0 && c.high > 1000 * c.low;
  const axes = columns.filter(c => c.numeric && c.name !== "case");
  const canvas = document.getElementById("parallel");
  const table = document.getElementById("table");
  let order = { i: 0, up: true };

  const kept = () =>
    rows.filter(row =>
      columns.every(c => {
        const x = row[c.i];
        if (!c.numeric) return !c.text || String(x).toLowerCase().includes(c.text);
        if (c.from === -Infinity && c.to === Infinity) return true;
        return typeof x === "number" && x >= c.from && x <= c.to;
      }),
    );

  const draw = left => {
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = canvas.getBoundingClientRect();
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const color = (name, other) => style.getPropertyValue(name).trim() || other;
    pen.scale(ratio, ratio);
    pen.font = "12px sans-serif";
    const x = k => 40 + (k * (width - 80)) / Math.max(axes.length - 1, 1);
    const along = (c, value) => (c.log ? Math.log(value) : value);
    const share = (c, value) =>
      (along(c, value) - along(c, c.low)) / (along(c, c.high) - along(c, c.low) || 1);
    const y = (c, value) => height - 34 - share(c, value) * (height - 70);
    pen.strokeStyle = color("--link", "#3b6ea8");
    pen.globalAlpha = Math.max(0.04, Math.min(0.6, 60 / (left.length || 1)));
    for (const row of left) {
      pen.beginPath();
      let begun = false;
      axes.forEach((c, k) => {
        if (typeof row[c.i] !== "number") {
          begun = false;
          return;
        }
        if (begun) pen.lineTo(x(k), y(c, row[c.i]));
        else pen.moveTo(x(k), y(c, row[c.i]));
        begun = true;
      });
      pen.stroke();
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = color("--muted", "#777");
    pen.fillStyle = color("--ink", "#222");
    pen.textAlign = "center";
    // as wide as the axes are apart, and never beyond the ends of the picture
    const room = axes.length > 1 ? (width - 80) / (axes.length - 1) - 6 : width;
    const word = (text, k, height) => {
      const half = Math.min(pen.measureText(text).width, room) / 2;
      pen.fillText(text, Math.min(Math.max(x(k), half), width - half), height, room);
    };
    axes.forEach((c, k) => {
      pen.beginPath();
      pen.moveTo(x(k), 36);
      pen.lineTo(x(k), height - 34);
      pen.stroke();
      word(c.log ? `${c.title}, log` : c.title, k, 14);
      word(c.high.toPrecision(4), k, 30);
      word(c.low.toPrecision(4), k, height - 18);
    });
  };

  const list = left => {
    const sign = order.up ? 1 : -1;
    const sorted = [...left].sort((a, b) => {
      const [p, q] = [a[order.i], b[order.i]];
      return p === q ? 0 : p === null ? 1 : q === null ? -1 : p < q ? -sign : sign;
    });
    table.replaceChildren();
    const heading = table.createTHead().insertRow();
    for (const c of columns) {
      const cell = document.createElement("th");
      const button = document.createElement("button");
      button.textContent = c.title;
      button.style.cssText = "all:unset;cursor:pointer;font-weight:600";
      button.onclick = () => {
        order = { i: c.i, up: order.i === c.i ? !order.up : true };
        show();
      };
      cell.append(button);
      heading.append(cell);
    }
    const body = table.createTBody();
    for (const row of sorted.slice(0, 200)) {
      const line = body.insertRow();
      for (const c of columns) {
        const value = row[c.i];
        line.insertCell().textContent =
          typeof value === "number" && !Number.isInteger(value)
            ? value.toPrecision(6)
            : (value ?? "");
      }
    }
  };

  const show = () => {
    const left = kept();
    draw(left);
    list(left);
    document.getElementById("kept").textContent =
      `${left.length} of ${rows.length} cases` + (left.length > 200 ? "; 200 are listed" : "");
  };

  const filters = document.createElement("table");
  for (const c of columns) {
    if (c.name === "case") continue;
    const line = filters.insertRow();
    line.insertCell().textContent = c.title;
    const field = (label, set) => {
      const input = document.createElement("input");
      input.type = c.numeric ? "number" : "search";
      input.step = "any";
      input.style.cssText = "width:10em;max-width:26vw";
      input.placeholder = label;
      input.setAttribute("aria-label", `${c.name}: ${label}`);
      input.oninput = () => {
        set(input.value);
        show();
      };
      line.insertCell().append(input);
    };
    if (c.numeric) {
      field("lowest", text => {
        c.from = text === "" ? -Infinity : Number(text);
      });
      field("highest", text => {
        c.to = text === "" ? Infinity : Number(text);
      });
    } else {
      field("contains", text => {
        c.text = text.toLowerCase();
      });
    }
  }
  document.getElementById("filters").append(filters);
  window.addEventListener("resize", show);
  show();
})();
