// Simulates: the steps of zw.simulate, printed as WebAssembly, take over from the run.
"use strict";
function simulation(data, el, view) {
  const given = data.live,
    names = Object.getOwnPropertyNames(Math),
    math = Object.fromEntries(names.map(name => [name, Math[name]]));
  math.exp2 = x => 2 ** x;
  math.fmod = (x, y) => x % y;
  const kinds = { Float64Array, BigInt64Array };
  const numbers = { points: data.points.length, joints: data.joints.length };
  const shift = 3 * (numbers.points + numbers.joints);
  // two rows alike, as the view looks for the frame after the present one
  const sizes = [3 * numbers.points, 3 * numbers.joints, 7 * data.bodies.length];
  const [places, axes, poses] = sizes.map(n => new Float32Array(2 * n));
  const FRAME = 0.1; // longest time that one frame may catch up [s]
  let at = null,
    module = null,
    held = null; // the point that is dragged, and where to
  const nq = () => given.coordinates;

  // places, axes and poses at coordinates, which may differ from those of the state
  function values(q) {
    const own = at.y.slice(0, nq());
    at.y.set(q);
    module.see();
    at.y.set(own);
    return at.seen;
  }
  function show() {
    module.see();
    if (module.push) module.push();
    places.set(at.seen.subarray(0, 3 * numbers.points));
    axes.set(at.seen.subarray(3 * numbers.points, shift));
    poses.set(at.seen.subarray(shift));
    for (const x of [places, axes, poses]) x.copyWithin(x.length / 2, 0, x.length / 2);
    view.changed();
  }
  const put = (name, x) =>
    at[name].set(x.map(at[name] instanceof BigInt64Array ? BigInt : Number));
  function reset(keep) {
    const kept = name => keep && (name === "p" || name.startsWith("own "));
    for (const [name, x] of Object.entries(given.start)) if (!kept(name)) put(name, x);
    if (keep) module.place();
    show();
  }
  // other numbers: the step is chosen anew, and the state put onto the constraints
  function anew() {
    for (const name of ["h", "ratio", "ceiling", "result"]) put(name, given.start[name]);
    module.place();
    show();
  }
  function pull() {
    // the least change of q that moves a point to where it is dragged, a few times
    const { point, to } = held;
    for (let turn = 0; turn < 6; turn++) {
      const q = [...at.y.subarray(0, nq())],
        place = q => [...values(q).subarray(3 * point, 3 * point + 3)],
        here = place(q),
        step = 1e-6;
      const slopes = q.map((_, i) => {
        const moved = q.map((x, k) => (k === i ? x + step : x));
        return place(moved).map((x, c) => (x - here[c]) / step);
      });
      const off = [to.x - here[0], to.y - here[1], to.z - here[2]],
        length = slopes.reduce((sum, s) => sum + s.reduce((a, x) => a + x * x, 0), 0);
      slopes.forEach((s, i) => {
        const way = s.reduce((sum, x, c) => sum + x * off[c], 0);
        at.y[i] = q[i] + way / Math.max(length / (data.space ? 3 : 2), 1e-12);
      });
      module.place();
    }
    at.y.fill(0, nq());
    anew();
  }
  const made = {
    arrays: [places, axes, poses],
    time: () => at.t[0],
    // advance by some time; whether anything has changed
    tick(seconds) {
      if (held) {
        pull();
        return true;
      }
      if (!(seconds > 0) || at.result[0] !== 0n) return false;
      at.until[0] = at.t[0] + Math.min(seconds, FRAME * Math.max(Number(el.speed.value), 1));
      for (let k = 0; k < 4 && at.t[0] < at.until[0]; k++) module.advance();
      show();
      return true;
    },
    say() {
      el.left.textContent =
        at.result[0] === 0n
          ? `violation ${at.violation[0].toExponential(1)}, ${at.accepted[0]} steps`
          : "the simulation ends here: start again";
    },
    advanceTo(t) {
      at.until[0] = t;
      while (at.t[0] < t && at.result[0] === 0n) module.advance();
      show();
      return [...at.y];
    },
    state: () => [...at.y],
    // of the joints, three numbers each
    forces: () => at.forces ?? [],
    steps: () => Number(at.accepted[0]),
    reset: () => reset(),
    // where the points are in the window
    pixels: () => {
      const box = el.stage.getBoundingClientRect();
      return data.points.map((_, i) => {
        const { x, y } = view.seen(i);
        return [box.left + ((1 + x) / 2) * box.width, box.top + ((1 - y) / 2) * box.height];
      });
    },
    letGo: () => view.begin(made),
  };
  const code = unpack(bytesOf(given.binary.packed), given.binary.size);
  if (!WebAssembly.validate(code)) code.set(given.fused[1], given.fused[0]);
  WebAssembly.instantiate(code, { math }).then(({ instance }) => {
    module = instance.exports;
    at = Object.fromEntries(
      Object.entries(given.places).map(([name, [byte, kind, count]]) => [
        name,
        new kinds[kind](module.memory.buffer, byte, count),
      ]),
    );
    reset();
    given.parameters.forEach((name, i) => {
      const value = at.p[i],
        label = document.createElement("label"),
        title = document.createElement("span"),
        slider = document.createElement("input"),
        shown = document.createElement("output");
      if (!value || !given.sliders[i]) return;
      const [min, max] = value > 0 ? [0.2 * value, 3 * value] : [3 * value, 0.2 * value];
      Object.assign(slider, { type: "range", min, max, step: "any" });
      slider.value = value;
      slider.name = name;
      const say = () => (shown.textContent = Number(at.p[i].toPrecision(3)));
      slider.addEventListener("input", () => {
        at.p[i] = Number(slider.value);
        module.derive();
        say();
        anew();
      });
      say();
      // declared ones by the names of their file
      title.textContent = label.title = name.replace(/^parameters_/, "");
      label.append(title, slider, shown);
      el.sliders.append(label);
    });
    el.parameters.hidden = !el.sliders.childElementCount;
    el.parameters.open = innerHeight > 560;
    el.letgo.disabled = false;
    el.stage.dataset.simulates = "ready";
    window.zwang = made;
  });
  el.letgo.disabled = true;
  el.letgo.addEventListener("click", () => {
    if (at) made.letGo();
  });
  el.again.addEventListener("click", () => {
    reset(true);
    made.letGo();
  });
  // a point under the mouse is dragged; elsewhere the view moves
  const where = event => {
    const box = el.stage.getBoundingClientRect();
    return [
      (2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height,
      box,
    ];
  };
  el.stage.addEventListener(
    "pointerdown",
    event => {
      if (!view.live()) return;
      const [x, y, box] = where(event);
      const far = data.points.map((_, i) => {
        const seen = view.seen(i);
        return Math.hypot(((seen.x - x) * box.width) / 2, ((seen.y - y) * box.height) / 2);
      });
      const point = far.indexOf(Math.min(...far));
      if (far[point] > 16) return;
      held = { point, to: view.unseen(x, y, point) };
      view.orbit.enabled = false;
      event.stopPropagation();
    },
    true,
  );
  addEventListener("pointermove", event => {
    if (held) held.to = view.unseen(...where(event).slice(0, 2), held.point);
  });
  addEventListener("pointerup", () => {
    held = null;
    view.orbit.enabled = true;
  });
}
