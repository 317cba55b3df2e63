// Plays a run as lines on a canvas: what a notebook shows, which has no room for three.js.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent),
    el = Object.fromEntries([...document.querySelectorAll("[id]")].map(x => [x.id, x])),
    { frames, start, end, space, points } = data,
    [places, poses] = [curves(data.places), curves(data.poses)],
    count = points.length,
    pen = el.stage.getContext("2d"),
    FAR = 6, // extents that something moves before it is followed
    at = (frame, i) => places.subarray(3 * (frame * count + i), 3 * (frame * count + i) + 3);
  const wires = data.wires.map(lines => curves(lines));
  let [azimuth, elevation] = data.view.map(x => (x * Math.PI) / 180),
    time = start,
    playing = true,
    before = null;

  // a point of a body's wires at a frame: turned by its quaternion and moved
  function carried(frame, body, k) {
    const from = 7 * (frame * wires.length + body),
      [px, py, pz, w, x, y, z] = poses.subarray(from, from + 7),
      [a, b, c] = wires[body].subarray(3 * k, 3 * k + 3),
      [u, v, n] = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
    return [
      px + a + w * u + y * n - z * v,
      py + b + w * v + z * u - x * n,
      pz + c + w * n + x * v - y * u,
    ];
  }
  // to the right and up; of space in parallel projection
  function projected([x, y, z]) {
    if (!space) return [x, y];
    const [ca, sa, ce, se] = [azimuth, elevation].flatMap(e => [Math.cos(e), Math.sin(e)]);
    return [ca * y - sa * x, ce * z - se * (ca * x + sa * y)];
  }
  // the box around all that moves, whatever it is seen from in space
  const [low, high] = [[], []];
  const grow = x => {
    for (let c = 0; c < 3; c++) {
      low[c] = Math.min(low[c] ?? Infinity, x[c]);
      high[c] = Math.max(high[c] ?? -Infinity, x[c]);
    }
  };
  for (let k = 0; k < places.length; k += 3)
    if (Number.isFinite(places[k])) grow(places.subarray(k, k + 3));
  const every = Math.max(1, Math.floor(frames / 100));
  for (let frame = 0; frame < frames; frame += every)
    wires.forEach((lines, i) => {
      for (let k = 0; k < lines.length / 3; k++)
        if (Number.isFinite(lines[3 * k])) grow(carried(frame, i, k));
    });
  // what goes far is followed
  const size = frame => {
    const ends = [0, 1, 2].map(c => {
      const list = points.map((_, i) => at(frame, i)[c]).filter(Number.isFinite);
      return [Math.min(...list), Math.max(...list)];
    });
    const reach = Math.hypot(...ends.map(e => e[1] - e[0]));
    return { middle: ends.map(e => (e[0] + e[1]) / 2), reach };
  };
  const middle = low.map((x, c) => (x + high[c]) / 2),
    sides = low.map((x, c) => high[c] - x),
    own = size(0).reach,
    far = own > 0 && Math.hypot(...sides) > FAR * own,
    reach = (far ? 2 * own : Math.hypot(...sides)) || 1;

  function draw() {
    const ratio = devicePixelRatio || 1,
      [width, height] = [el.stage.clientWidth, el.stage.clientHeight],
      [across, up] = space || far ? [reach, reach] : [sides[0] || reach, sides[1] || reach],
      scale = 0.86 * Math.min(width / across, height / up),
      frame = Math.round(((time - start) / (end - start || 1)) * (frames - 1)),
      center = projected(far ? size(frame).middle : middle);
    el.stage.width = width * ratio;
    el.stage.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.lineJoin = pen.lineCap = "round";
    const ink = getComputedStyle(document.body).color,
      put = x => {
        const [right, high] = projected(x);
        return [
          width / 2 + scale * (right - center[0]),
          height / 2 - scale * (high - center[1]),
        ];
      };
    function line(list, color, thick, dash = []) {
      pen.strokeStyle = color;
      pen.lineWidth = thick;
      pen.setLineDash(dash);
      pen.beginPath();
      let fresh = true;
      for (const x of list) {
        if (!Number.isFinite(x[0])) fresh = true;
        else {
          pen[fresh ? "moveTo" : "lineTo"](...put(x));
          fresh = false;
        }
      }
      pen.stroke();
    }
    pen.globalAlpha = 0.45;
    for (const i of data.traces)
      line(Array.from({ length: frame + 1 }, (_, k) => at(k, i)), ink, 1);
    pen.globalAlpha = 1;
    wires.forEach((lines, i) => {
      const list = Array.from({ length: lines.length / 3 }, (_, k) =>
        Number.isFinite(lines[3 * k]) ? carried(frame, i, k) : [NaN],
      );
      line(list, data.colors[i], 1.2);
    });
    for (const { corners, color } of data.plates) {
      const list = [...corners, corners[0]].map(i => at(frame, i));
      line(list, color, 2);
      pen.globalAlpha = 0.18;
      pen.fillStyle = color;
      pen.fill();
      pen.globalAlpha = 1;
    }
    for (const { ends, color, kind } of data.bars)
      line(
        ends.map(i => at(frame, i)),
        color,
        kind === "spring" ? 1.5 : 3.5,
        kind === "spring" ? [5, 4] : [],
      );
    pen.fillStyle = ink;
    for (const i of data.dots) {
      const [x, y] = put(at(frame, i));
      if (!Number.isFinite(x)) continue;
      pen.beginPath();
      pen.arc(x, y, 3, 0, 7);
      pen.fill();
    }
    el.time.textContent = `${time.toFixed(2)} s of ${end.toFixed(2)} s`;
    el.scrub.value = time;
  }
  function tick(now) {
    if (playing && before !== null) {
      time += (now - before) / 1000;
      if (time > end) time = start;
      draw();
    }
    before = now;
    requestAnimationFrame(tick);
  }
  Object.assign(el.scrub, { min: start, max: end, step: "any" });
  const hold = held => {
    playing = !held;
    el.play.textContent = held ? "▶" : "⏸";
  };
  el.play.addEventListener("click", () => hold(playing));
  el.scrub.addEventListener("input", () => {
    hold(true);
    time = Number(el.scrub.value);
    draw();
  });
  el.stage.addEventListener("pointermove", event => {
    if (!space || !event.buttons) return;
    azimuth -= event.movementX / 120;
    elevation = Math.min(1.57, Math.max(-1.57, elevation + event.movementY / 120));
    draw();
  });
  addEventListener("resize", draw);
  hold(false);
  draw();
  requestAnimationFrame(tick);
})();
