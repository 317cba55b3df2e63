// Simulates: the steps of zw.simulate, printed as WebAssembly, take over from the run.
"use strict";
function simulation(data, el, view) {
  const given = data.live,
    { points, bodies, bars } = data,
    numbers = { points: points.length, joints: data.joints.length };
  const shift = 3 * (numbers.points + numbers.joints);
  // two rows alike, as the view looks for the frame after the present one
  const sizes = [3 * numbers.points, 3 * numbers.joints, 7 * bodies.length];
  const [places, axes, poses] = sizes.map(n => new Float32Array(2 * n));
  const FRAME = 0.1, // longest time that one frame may catch up [s]
    SLICE = 1 / 60, // time for which the force of a pull is constant [s]
    TURNS = 2, // a second of what hangs on the spring that pulls, of a clock that the speed says
    DAMPING = 0.5; // of that spring, in parts of the critical one
  let module = null,
    steps = null,
    at = null,
    held = null; // the place that is held, where to, and by which force

  const speed = () => Number(el.speed.value),
    nq = () => given.coordinates,
    nv = () => at.y.length - nq(),
    row = (name, c, n) => at[name].subarray(c * n, (c + 1) * n),
    dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  function show() {
    module.see();
    if (module.push) module.push();
    places.set(at.seen.subarray(0, 3 * numbers.points));
    axes.set(at.seen.subarray(3 * numbers.points, shift));
    poses.set(at.seen.subarray(shift));
    for (const x of [places, axes, poses]) x.copyWithin(x.length / 2, 0, x.length / 2);
    if (held) grasp();
    view.pull(held && V(...at.grasped), held && held.to);
    view.changed();
  }
  const V = (...x) => new THREE.Vector3(...x);
  function grasp() {
    at.held.set(held.weights);
    module.grasp();
  }
  function reset(keep) {
    steps.reset(keep);
    show();
  }
  // the instant of the run that is shown, with the numbers of the model as they are now
  function reach(time) {
    const p = [...at.p];
    steps.reset();
    const changed = p.some((x, i) => x !== at.p[i]);
    const known = given.states.findLast(x => x[0] <= time);
    if (known) {
      at.t[0] = known[0];
      at.y.set(known.slice(1));
      if (steps.turn) steps.turn.begin();
    }
    while (at.t[0] < time && !steps.ended()) steps.advance(time);
    if (!changed) return show();
    at.p.set(p);
    module.derive();
    anew();
  }
  // other numbers: the step is chosen anew, and the state put onto the constraints
  function anew() {
    for (const name of ["h", "ratio", "ceiling", "result"]) steps.put(name, given.start[name]);
    steps.place();
    if (steps.turn) steps.turn.settle();
    show();
  }
  function drag() {
    // the least change of q that moves a place to where it is dragged, a few times
    for (let turn = 0; turn < 6; turn++) {
      grasp();
      const off = held.to.toArray().map((x, c) => x - at.grasped[c]),
        length = dot(at.slopes, at.slopes);
      for (let i = 0; i < nq(); i++) {
        const way = off.reduce((sum, x, c) => sum + x * at.slopes[c * nq() + i], 0);
        at.y[i] += way / Math.max(length / (data.space ? 3 : 2), 1e-12);
      }
      steps.place();
    }
    at.y.fill(0, nq());
    anew();
  }
  // what unit forces at the place that is held give it in accelerations, all directions together
  function give() {
    const under = force => {
      at.pull.set(force);
      module.accelerate();
      return [...at.acceleration];
    };
    const none = under(new Float64Array(nv()));
    return [0, 1, 2].reduce((sum, c) => {
      const lever = row("lever", c, nv());
      return sum + dot(lever, under(lever)) - dot(lever, none);
    }, 0);
  }
  // the force of a spring between the place that is held and the mouse, as a part of F
  function pull() {
    grasp();
    const rate = (2 * Math.PI * TURNS) / speed(),
      gives = give(),
      mass = gives > 0 ? (data.space ? 3 : 2) / gives : 0,
      v = at.y.subarray(nq());
    held.force = held.to.toArray().map((x, c) => {
      const moves = dot(row("lever", c, nv()), v);
      return mass * rate * (rate * (x - at.grasped[c]) - 2 * DAMPING * moves);
    });
    at.pull.forEach((_, k) => {
      at.pull[k] = held.force.reduce((sum, f, c) => sum + f * at.lever[c * nv() + k], 0);
    });
    if (steps.turn) steps.turn.changed();
  }
  function letLoose() {
    if (!held) return;
    held = null;
    at.pull.fill(0);
    if (steps.turn) steps.turn.changed();
    view.orbit.enabled = true;
    view.pull(null);
  }
  const made = {
    arrays: [places, axes, poses],
    time: () => at.t[0],
    // advance by some time; whether anything has changed
    tick(seconds) {
      if (held && !(seconds > 0)) {
        drag();
        return true;
      }
      if (!(seconds > 0) || steps.ended()) return false;
      const end = at.t[0] + Math.min(seconds, FRAME * Math.max(speed(), 1));
      for (let calls = 0; at.t[0] < end && !steps.ended() && calls < 30; calls++) {
        if (held) pull();
        steps.advance(held ? Math.min(end, at.t[0] + SLICE * speed()) : end);
      }
      show();
      return true;
    },
    say() {
      const force = held?.force ? `, pulled by ${Math.hypot(...held.force).toPrecision(2)} N` : "";
      el.left.textContent = steps.ended()
        ? "the simulation ends here: start again"
        : `violation ${at.violation[0].toExponential(1)}, ${at.accepted[0]} steps${force}`;
    },
    advanceTo(t) {
      while (at.t[0] < t && !steps.ended()) steps.advance(t);
      show();
      return [...at.y];
    },
    state: () => [...at.y],
    // of the joints, three numbers each
    forces: () => at.forces ?? [],
    // of a gap, at a point that it acts at: the force of least norm that does as much
    contactForce(gap, point) {
      if (!(at.controller_state?.[gap] > 0)) return [0, 0, 0];
      at.held.fill(0);
      at.held[point] = 1;
      module.grasp();
      module.load();
      const rows = [0, 1, 2].map(c => row("lever", c, nv())),
        own = row("pushes", gap, nv()),
        small = 1e-12 * dot(at.lever, at.lever), // of directions in which the point does not move
        S = rows.map((a, i) => [...rows.map((b, j) => dot(a, b) + (i === j ? small : 0)), 0]),
        matrix = new THREE.Matrix4().set(...S.flat(), 0, 0, 0, 1).invert();
      return V(...rows.map(a => dot(a, own))).applyMatrix4(matrix).toArray();
    },
    // by which something is pulled
    pull: () => held?.force ?? [0, 0, 0],
    steps: () => Number(at.accepted[0]),
    reset: () => reset(),
    // where the points are in the window
    pixels: () => {
      const box = el.stage.getBoundingClientRect();
      return points.map((_, i) => {
        const { x, y } = view.project(view.place(i));
        return [box.left + ((1 + x) / 2) * box.width, box.top + ((1 - y) / 2) * box.height];
      });
    },
    letGo: () => {
      if (!view.live()) reach(view.time());
      view.begin(made);
    },
  };
  WebAssembly.instantiate(codeOf(given), { math: MATH }).then(({ instance }) => {
    module = instance.exports;
    steps = stepsOf(module, given);
    at = steps.at;
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
    view.begin(made);
  });
  // what is under the mouse is pulled while the simulation plays, and dragged while it pauses;
  // elsewhere the view moves
  const where = event => {
    const box = el.stage.getBoundingClientRect();
    return [
      (2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height,
      box,
    ];
  };
  // weights of what is near a place of the window: a point, a place on a bar, or on a body
  function under(x, y, box) {
    const weights = new Float64Array(numbers.points + 4 * bodies.length),
      flat = p => {
        const { x: a, y: b, z } = view.project(p);
        return { x: ((a - x) * box.width) / 2, y: ((b - y) * box.height) / 2, z };
      },
      seen = points.map((_, i) => flat(view.place(i))),
      far = seen.map(p => Math.hypot(p.x, p.y)),
      point = far.indexOf(Math.min(...far));
    if (far[point] <= 16) {
      weights[point] = 1;
      return { weights, depth: seen[point].z };
    }
    for (const { kind, ends } of bars) {
      const [a, b] = ends.map(i => seen[i]),
        way = { x: b.x - a.x, y: b.y - a.y },
        s = -(a.x * way.x + a.y * way.y) / (way.x ** 2 + way.y ** 2);
      if (!(s > 0 && s < 1) || !["bar", "rod"].includes(kind)) continue;
      if (Math.hypot(a.x + s * way.x, a.y + s * way.y) > 8) continue;
      [weights[ends[0]], weights[ends[1]]] = [1 - s, s];
      return { weights, depth: a.z + s * (b.z - a.z) };
    }
    for (const [b, { shapes, owner }] of bodies.entries()) {
      if (owner < 0) continue;
      const [px, py, pz, w, ...r] = poses.subarray(7 * b, 7 * b + 7),
        center = V(px, py, pz),
        reach = Math.max(0, ...shapes.map(view.reach)),
        { x: a, y: c, z } = flat(center);
      if (!(Math.hypot(a, c) < reach * view.scale())) continue;
      const own = view.unproject(x, y, z).sub(center);
      own.applyQuaternion(new THREE.Quaternion(...r, w).normalize().invert());
      weights.set([1, ...own.toArray()], numbers.points + 4 * b);
      return { weights, depth: z };
    }
    return null;
  }
  el.stage.addEventListener(
    "pointerdown",
    event => {
      if (!view.live()) return;
      const found = under(...where(event));
      if (!found) return;
      held = { ...found, to: view.unproject(...where(event).slice(0, 2), found.depth) };
      view.orbit.enabled = false;
      event.stopPropagation();
    },
    true,
  );
  addEventListener("pointermove", event => {
    if (held) held.to = view.unproject(...where(event).slice(0, 2), held.depth);
  });
  addEventListener("pointerup", letLoose);
}
