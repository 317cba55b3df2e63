// Plays a run. Everything comes from the element #data (motion.py says what it holds);
// three.js draws.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const el = Object.fromEntries([...document.querySelectorAll("[id]")].map(x => [x.id, x]));
  const { frames, start, end, joints, points } = data;
  let places = curves(data.places),
    axes = curves(data.axes),
    poses = curves(data.poses),
    live = null; // the simulation that has taken over from the run
  const played = [places, axes, poses];
  const samples = curves(data.samples);
  const violation = curves(data.violation),
    forces = data.forces && curves(data.forces);
  for (const band of data.contact?.bands ?? [])
    for (const kind of ["holds", "slides", "impulses"]) band[kind] = [...curves(band[kind])];
  const PALETTE = [
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7b5cd6",
    "#8a6d3b",
  ];
  const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
  // longest arrow over the size of the scene; decades of the violation's colors
  const LONGEST = 0.3,
    CONE = 0.16, // length of a side of a friction cone over the same
    CLEAN = -14,
    BAD = -6;
  // milliseconds from the last change to rest, and between two changes of the page's texts where a
  // processor draws
  const REST = 150,
    SAY = 100;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const colorOf = owner =>
    owner < 0 ? (dark ? "#b0b8c0" : "#58626c") : PALETTE[owner % PALETTE.length];
  const V = (x = 0, y = 0, z = 0) => new THREE.Vector3(x, y, z);
  const UP = V(0, 0, 1);

  // --- the renderer, or why there is none ---
  const PAGE = getComputedStyle(document.body).backgroundColor;
  let renderer, software;
  try {
    software = drawnByProcessor();
    renderer = new THREE.WebGLRenderer({ antialias: !software, alpha: false });
  } catch (error) {
    el.trouble.hidden = false;
    el.trouble.textContent =
      "This browser has no WebGL, which draws the view: allow hardware acceleration, " +
      "or open the page in another browser.";
    return;
  }
  renderer.setClearColor(PAGE);
  el.stage.prepend(renderer.domElement);
  const scene = new THREE.Scene(),
    marks = new THREE.Group(),
    paths = new THREE.Group(),
    arrows = new THREE.Group(),
    bodies = new THREE.Group();
  scene.add(bodies, marks, paths, arrows, new THREE.HemisphereLight("#ffffff", "#8f98a3", 2.2));
  const lamp = new THREE.DirectionalLight("#ffffff", 1.4);
  scene.add(lamp);

  // --- size of everything, and of the machine alone, which may travel ---
  const box = () => ({
    low: V(Infinity, Infinity, Infinity),
    high: V(-Infinity, -Infinity, -Infinity),
  });
  const put = (room, x, reach = 0) => {
    const r = V(reach, reach, data.space ? reach : 0);
    room.low.min(x.clone().sub(r));
    room.high.max(x.clone().add(r));
  };
  const span = room => room.high.distanceTo(room.low);
  const point = (f, i) =>
    V(...places.subarray(3 * (f * points.length + i), 3 * (f * points.length + i) + 3));
  const instants = [...Array(Math.min(frames, 60))].map((_, i, all) =>
    Math.round((i * (frames - 1)) / Math.max(all.length - 1, 1)),
  );
  const room = box();
  for (let f = 0; f < frames; f++) points.forEach((_, i) => put(room, point(f, i)));
  const extent = span(room),
    movers = points
      .map((_, i) => i)
      .filter(i => instants.some(f => point(f, i).distanceTo(point(0, i)) > 1e-6 * extent));
  const REACH = {
    box: s => Math.hypot(...s) / 2,
    sphere: s => s[0],
    ellipsoid: s => Math.max(...s),
    cylinder: s => Math.hypot(s[0], s[1] / 2),
    capsule: s => s[0] + s[1] / 2,
    mesh: () => 0,
  };
  const reachOf = shape => REACH[shape.kind](shape.size) + Math.hypot(...shape.position);
  let own = 0;
  for (const f of instants) {
    const machine = box();
    movers.forEach(i => put(machine, point(f, i)));
    data.bodies.forEach((body, b) =>
      (body.owner < 0 ? [] : body.shapes).forEach(shape => {
        const at = 7 * (f * data.bodies.length + b);
        for (const x of [machine, room]) put(x, V(...poses.subarray(at, at + 3)), reachOf(shape));
      }),
    );
    own = Math.max(own, span(machine));
  }
  const { low, high } = room,
    middle = low.clone().add(high).multiplyScalar(0.5),
    whole_ = Math.max(span(room), 1e-6);
  // by a point at rest: it swings, and does not travel
  const held = data.bars.some(bar => bar.ends.some(i => !movers.includes(i)));
  // a particle alone has no size of its own
  const travels = movers.length > 0 && !held && own < 0.5 * whole_ && own > 0.01 * whole_,
    size = travels ? own : whole_,
    thick = 0.008 * size;

  // --- parts ---
  const kit = drawing(),
    { wide, partsOf, strokesOf, polyline } = kit;

  function coil() {
    // a spring from 0 to 1 along z: a zigzag in the plane, a helix in space
    const turns = 7,
      steps = data.space ? 24 : 4,
      corners = [0, 0, 0, 0, 0, 0.12];
    for (let i = 0; i <= turns * steps; i++) {
      const a = (2 * Math.PI * i) / steps,
        z = 0.15 + (0.7 * i) / (turns * steps);
      corners.push(data.space ? Math.cos(a) : 0, Math.sin(a), z);
    }
    return [...corners, 0, 0, 0.88, 0, 0, 1];
  }

  const bars = data.bars.map(bar => {
    if (bar.kind === "spring")
      return { ...bar, line: polyline(coil(), wide(dark ? "#2fc49a" : "#00795a", 2), bodies) };
    const shortest = [...Array(frames)].reduce((least, _, f) => {
      return Math.min(least, point(f, bar.ends[0]).distanceTo(point(f, bar.ends[1])));
    }, Infinity);
    return { ...bar, r: bar.kind === "bar" ? thick : 0.6 * thick, shortest };
  });
  const stiff = bars.filter(bar => !bar.line),
    inks = stiff.map(bar => colorOf(bar.owner)),
    shafts = partsOf("tube", inks, thick, bodies),
    domes = partsOf("dome", [...inks, ...inks], thick, bodies);
  // cylinders as long as their strokes allow
  const strokes = bars.filter(bar => bar.kind === "actuator"),
    cylinders = partsOf("rod", Array(strokes.length).fill("#8b6f2f"), 1.6 * thick, bodies);
  const plates = data.plates.map(plate => {
    // a fan around its middle, corner n
    const n = plate.corners.length,
      geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * (n + 1)), 3));
    geometry.setIndex([...Array(n)].flatMap((_, i) => [n, i, (i + 1) % n]));
    const material = new THREE.MeshBasicMaterial({
      color: colorOf(plate.owner),
      transparent: true,
      opacity: 0.22,
      side: THREE.DoubleSide,
      depthWrite: false,
    });
    const face = new THREE.Mesh(geometry, material);
    bodies.add(face);
    face.frustumCulled = false;
    return { ...plate, face };
  });

  const { groups: carried, follow } = shapesOf(data.bodies, bodies, kit, {
    space: data.space,
    edge: dark ? "#dde3ea" : "#26303a",
    colorOf,
  });

  const JOINT = new THREE.Color(dark ? "#f0f3f6" : "#30363d"),
    FOOT = dark ? "#8b949e" : "#6e7781";
  const SYMBOLS = {
    pin: ["rod", 1.7, 1.7, 3.2],
    slide: ["cube", 3, 3, 6],
    ball: ["ball", 1.7],
    block: ["cube", 3.2],
    contact: ["ball", 0.9],
  };
  // for each joint its place among those of its kind
  const kinds = joints.map(joint => SYMBOLS[joint.symbol]?.[0]),
    rank = joints.map((_, j) => kinds.slice(0, j).filter(x => x === kinds[j]).length),
    marked = Object.fromEntries(
      ["rod", "cube", "ball"].map(kind => {
        const colors = kinds.filter(x => x === kind).map(() => JOINT);
        return [kind, partsOf(kind, colors, 3.2 * thick, marks)];
      }),
    );
  const numbered = chosen => joints.map((_, j) => j).filter(j => chosen(joints[j])),
    turning = numbered(x => data.space && !["ball", "contact", "none"].includes(x.symbol)),
    footed = numbered(x => x.grounded && x.symbol !== "contact"),
    moveAxis = strokesOf(new Float32Array(6 * turning.length), JOINT, 1, marks);
  // a triangle on hatched ground: x and y of strokes
  const HATCH = [...Array(8)].map((_, i) => [i - 4, -6.4, i - 2.6, -5]),
    GROUND = [[0, 0, -3, -5], [3, -5, 0, 0], [-4.4, -5, 4.4, -5], ...HATCH];
  const feet = data.space
    ? partsOf("tip", Array(footed.length).fill(FOOT), 3 * thick, marks, 0.55)
    : strokesOf(new Float32Array(6 * GROUND.length * footed.length), FOOT, 1.5, marks);

  const ARROW = dark ? "#ff8a80" : "#c62828";
  let strongest = 0;
  if (forces)
    for (let i = 0; i < forces.length; i += 3)
      strongest = Math.max(strongest, Math.hypot(forces[i], forces[i + 1], forces[i + 2]) || 0);
  const contacts = data.contact && contactsOf(data.contact, kit, arrows, CONE * size);
  strongest = Math.max(strongest, contacts ? contacts.strongest() : 0);
  const pushed = contacts ? data.contact.points.map(x => x.point) : [],
    shoved = [...joints.map(joint => joint.point), ...pushed]; // points with arrows
  const darts = (strongest > 0 ? ["tube", "tip"] : []).map(kind => {
    const made = partsOf(kind, Array(shoved.length).fill(ARROW), 1.4 * thick, arrows);
    // over all else
    Object.assign(made.set.material, { depthTest: false, transparent: true });
    made.set.renderOrder = 9;
    return made;
  });

  const pulled = new THREE.Group(),
    movePull = strokesOf(new Float32Array(6), "#7b5cd6", 2.5, pulled);
  pulled.visible = false;
  scene.add(pulled);
  const trails = data.traces.map((drawn, i) => {
    const all = new Float32Array(3 * frames);
    for (let f = 0; f < frames; f++) all.set(point(f, drawn).toArray(), 3 * f);
    const color = PALETTE[(i + 3) % PALETTE.length],
      faint = wide(color, 1.2),
      strong = wide(color, 2.6);
    faint.opacity = 0.4;
    polyline(all, faint, paths);
    return polyline(all, strong, paths);
  });

  // --- the floor: a grid whose spacing the legend says ---
  const spacing = (x => {
    const p = 10 ** Math.floor(Math.log10(x));
    return p * [1, 2, 5, 10].find(k => k * p >= x);
  })(size / (travels ? 6 : 12));
  const half = Math.ceil(((travels ? 2.5 : 0.9) * size) / spacing),
    grid = new THREE.Group(),
    across = (k, far = half * spacing, x = k * spacing) => [
      ...[x, -far, 0, x, far, 0],
      ...[-far, x, 0, far, x, 0],
    ],
    others = [...Array(2 * half + 1)].map((_, i) => i - half).filter(k => k !== 0);
  strokesOf(others.flatMap(k => across(k)), dark ? "#21262d" : "#e6eaee", 1, grid);
  strokesOf(across(0), dark ? "#30363d" : "#d3d9df", 1, grid);
  // before all else, and behind it
  for (const line of grid.children) {
    Object.assign(line.material, { transparent: false, depthTest: false, depthWrite: false });
    line.renderOrder = -1;
  }
  const floor = data.space
    ? Math.min(low.z - 2 * thick, joints.some(j => j.symbol === "contact") ? 0 : Infinity)
    : -0.2 * size;
  // lines stay put
  const lay = x =>
    grid.position.set(
      Math.round(x.x / spacing) * spacing,
      Math.round(x.y / spacing) * spacing,
      floor,
    );
  scene.add(grid);
  const digits = x => Number(x.toPrecision(3)).toString().replace("-", "−");
  el.scale.textContent = `grid ${digits(spacing)} ${data.unit}`;
  if (strongest > 0) el.arrows.style.color = ARROW;

  // --- the eye ---
  const camera = data.space
    ? new THREE.PerspectiveCamera(32, 1, size / 100, 100 * whole_)
    : new THREE.OrthographicCamera(-1, 1, 1, -1, -100 * size, 100 * size);
  camera.up.copy(data.space ? UP : V(0, 1, 0));
  const orbit = new THREE.OrbitControls(camera, renderer.domElement);
  orbit.enableRotate = data.space;
  if (!data.space) {
    orbit.mouseButtons.LEFT = THREE.MOUSE.PAN;
    orbit.touches.ONE = THREE.TOUCH.PAN;
  }
  function whole() {
    const [azimuth, elevation] = data.view.map(x => (x * Math.PI) / 180),
      aspect = el.stage.clientWidth / Math.max(el.stage.clientHeight, 1);
    const seen = el.follow.checked ? center() : middle;
    orbit.target.copy(seen);
    followed = center();
    const size = el.follow.checked ? own : whole_;
    if (data.space) {
      const away = (0.5 * size) / Math.sin((16 * Math.PI) / 180) / Math.min(1, aspect);
      camera.position
        .set(
          Math.cos(azimuth) * Math.cos(elevation),
          Math.sin(azimuth) * Math.cos(elevation),
          Math.sin(elevation),
        )
        .multiplyScalar(away)
        .add(seen);
    } else {
      const half = el.follow.checked
        ? (0.6 * own) / Math.min(1, aspect)
        : 0.5 * Math.max(high.y - low.y, (high.x - low.x) / aspect) + 0.08 * size;
      camera.userData.half = half;
      camera.zoom = 1;
      camera.position.set(seen.x, seen.y, size);
    }
    resize();
    orbit.update();
  }
  let [width, height] = [1, 1];
  // a processor has time for smooth edges only at rest, where it draws smaller pixels
  function sharpen(rest) {
    const ratio = !software ? devicePixelRatio : rest ? Math.max(2, devicePixelRatio) : 1;
    resting = rest;
    if (ratio === renderer.getPixelRatio()) return;
    renderer.setPixelRatio(ratio);
    measure();
  }
  const measure = () =>
    kit.seenBy(width, height, (height / sight()) * renderer.getPixelRatio());
  function resize() {
    width = el.stage.clientWidth;
    height = Math.max(el.stage.clientHeight, 1);
    sharpen(false);
    renderer.setSize(width, height);
    if (data.space) camera.aspect = width / height;
    else {
      const half = camera.userData.half;
      Object.assign(camera, {
        left: (-half * width) / height,
        right: (half * width) / height,
        top: half,
        bottom: -half,
      });
    }
    camera.updateProjectionMatrix();
    look();
  }

  // height of what is seen where the eye looks
  const sight = () =>
    data.space
      ? 2 * Math.tan((camera.fov * Math.PI) / 360) * camera.position.distanceTo(orbit.target)
      : (camera.top - camera.bottom) / camera.zoom;
  function look() {
    measure();
    stale = true;
  }

  // --- names ---
  const owned = owner => [
    ...new Set([
      ...data.bars.filter(b => b.owner === owner).flatMap(b => b.ends),
      ...data.plates.filter(b => b.owner === owner).flatMap(b => b.corners),
    ]),
  ];
  const label = (text, color) => {
    const x = document.createElement("span");
    x.textContent = text;
    x.style.color = color;
    el.labels.append(x);
    return x;
  };
  const titles = [
    ...joints.map(joint => ({
      x: label(joint.name, "var(--ink)"),
      at: () => place(joint.point),
      up: -16,
    })),
    ...data.owners.map((name, owner) => {
      const mine = owned(owner),
        body = data.bodies.findIndex(b => b.owner === owner);
      const at = () =>
        mine.length
          ? mine.reduce((sum, i) => sum.add(place(i)), V()).divideScalar(mine.length)
          : carried[body].position.clone();
      // towards the color of text, so that it can be read on either ground
      const shade = `color-mix(in srgb, ${colorOf(owner)} 65%, var(--ink))`;
      return { x: label(name, shade), at, up: 4 };
    }),
  ];

  // --- one instant ---
  let now = start,
    stale = true,
    playing = false,
    last = 0,
    drawn = 0,
    said = 0,
    resting = false,
    low_ = 0,
    part = 0,
    colored = false,
    followed = V();
  const tmp = V(),
    color = new THREE.Color(),
    between = new THREE.Quaternion(),
    turn = new THREE.Quaternion();
  const mixed = (array, width, i) => {
    // entry i of a row of `width` vectors, between two frames
    const a = 3 * (low_ * width + i),
      b = 3 * (Math.min(low_ + 1, frames - 1) * width + i);
    return V(
      array[a] + part * (array[b] - array[a]),
      array[a + 1] + part * (array[b + 1] - array[a + 1]),
      array[a + 2] + part * (array[b + 2] - array[a + 2]),
    );
  };
  const place = i => mixed(places, points.length, i);
  const center = () =>
    movers.reduce((sum, i) => sum.add(place(i)), V()).divideScalar(Math.max(movers.length, 1));
  const towards = way => turn.setFromUnitVectors(UP, tmp.copy(way).normalize());

  function show() {
    const f = end > start && !live ? ((now - start) / (end - start)) * (frames - 1) : 0;
    low_ = Math.min(Math.floor(f), frames - 1);
    part = f - low_;
    let [k, cylinder] = [0, 0];
    for (const bar of bars) {
      const [a, b] = bar.ends.map(place),
        way = b.clone().sub(a),
        length = Math.max(way.length(), 1e-9 * size);
      if (bar.line) {
        bar.line.position.copy(a);
        bar.line.scale.set(2.6 * thick, 2.6 * thick, length);
        if (data.space) bar.line.quaternion.copy(towards(way));
        else
          bar.line.quaternion.setFromRotationMatrix(
            new THREE.Matrix4().makeBasis(
              UP.clone().negate(),
              tmp.copy(way).normalize().cross(UP).negate(),
              way.clone().normalize(),
            ),
          );
        continue;
      }
      towards(way);
      shafts.put(k, tmp.copy(a).add(b).multiplyScalar(0.5), turn, bar.r, bar.r, length);
      domes.put(k + stiff.length, b, turn, bar.r);
      if (bar.kind === "actuator") {
        tmp.copy(a).addScaledVector(way, (0.45 * bar.shortest) / length);
        cylinders.put(cylinder++, tmp, turn, 1.6 * thick, 1.6 * thick, 0.9 * bar.shortest);
      }
      domes.put(k++, a, towards(way.negate()), bar.r);
    }
    for (const plate of plates) {
      const corner = plate.face.geometry.attributes.position;
      const around = plate.corners.map(place),
        center = around.reduce((sum, x) => sum.add(x), V()).divideScalar(around.length);
      [...around, center].forEach((x, k) => corner.setXYZ(k, x.x, x.y, x.z));
      corner.needsUpdate = true;
    }
    carried.forEach((group, b) => {
      const n = data.bodies.length,
        i = 7 * (low_ * n + b),
        k = 7 * (Math.min(low_ + 1, frames - 1) * n + b);
      const mix = j => poses[i + j] + part * (poses[k + j] - poses[i + j]);
      // in the plane, wheels lie behind bars
      group.position.set(mix(0), mix(1), data.space ? mix(2) : -0.15 * size);
      between.set(poses[i + 4], poses[i + 5], poses[i + 6], poses[i + 3]).normalize();
      group.quaternion.copy(
        between.slerp(
          turn.set(poses[k + 4], poses[k + 5], poses[k + 6], poses[k + 3]).normalize(),
          part,
        ),
      );
    });
    follow();
    joints.forEach(({ symbol, point }, j) => {
      if (!kinds[j]) return;
      const axis = mixed(axes, joints.length, j),
        [kind, ...scale] = SYMBOLS[symbol];
      towards(axis.lengthSq() > 0.1 ? axis : UP);
      marked[kind].put(rank[j], place(point), turn, ...scale.map(x => x * thick));
    });
    turning.forEach((j, i) => {
      const axis = mixed(axes, joints.length, j),
        at = place(joints[j].point);
      if (axis.lengthSq() < 0.1) axis.copy(UP);
      axis.setLength(9 * thick);
      moveAxis(i, at.clone().sub(axis), at.add(axis));
    });
    footed.forEach((j, i) => {
      const at = place(joints[j].point);
      if (data.space)
        feet.put(i, at.sub(V(0, 0, 3 * thick)), towards(UP), 3 * thick, 3 * thick, 5 * thick);
      else
        GROUND.forEach(([a, b, c, d], g) =>
          feet(
            i * GROUND.length + g,
            V(a, b).multiplyScalar(thick).add(at),
            V(c, d).multiplyScalar(thick).add(at),
          ),
        );
    });
    if (el.follow.checked) {
      const at = center();
      for (const x of [camera.position, orbit.target]) x.add(at).sub(followed);
      followed = at;
      camera.updateMatrixWorld();
    }
    lay(el.follow.checked ? followed : middle);
    trails.forEach(trail => {
      trail.geometry.instanceCount = Math.max(low_, 1);
    });
    instant();
  }

  // the arrow of a force
  function push(j, f) {
    strongest = Math.max(strongest, f.length() || 0); // of a simulation there may be larger ones
    const length = (LONGEST * size * f.length()) / strongest,
      shown = length > 0.5 * thick ? 1 : 0,
      head = Math.min(4 * thick, 0.5 * length),
      from = place(shoved[j]);
    towards(f.normalize());
    [
      [length - head, 0.45 * thick, (length - head) / 2],
      [head, 0.35 * head, length - head / 2],
    ].forEach(([long, r, middle], i) => {
      tmp.copy(from).addScaledVector(f, middle);
      darts[i].put(j, tmp, turn, shown * r, shown * r, shown * long);
    });
  }

  function instant() {
    if (live) {
      const found = live.forces();
      if (darts.length)
        shoved.forEach((point, j) => {
          const gap = data.contact?.points[j - joints.length]?.gap;
          const f = gap >= 0 ? live.contactForce(gap, point) : found.slice(3 * j, 3 * j + 3);
          push(j, V(...f));
        });
      return; // violations are those of the run
    }
    // forces and violations, known at the samples of the run
    let k = 1;
    while (k < samples.length - 1 && samples[k] < now) k++;
    k = Math.min(k, samples.length - 1);
    const before = Math.max(k - 1, 0),
      w =
        samples[k] > samples[before]
          ? Math.min(Math.max((now - samples[before]) / (samples[k] - samples[before]), 0), 1)
          : 0;
    const n = joints.length,
      at = (array, i, j, c, width) => array[(i * n + j) * width + c];
    const met = contacts ? contacts.forces(before, k, w, now) : [];
    if (contacts) contacts.draw(met, place, now);
    shoved.forEach((_, j) => {
      if (!darts.length) return;
      const f = V();
      if (j >= n) f.addVectors(...met[j - n]);
      else if (forces)
        f.set(
          ...[0, 1, 2].map(c => (1 - w) * at(forces, before, j, c, 3) + w * at(forces, k, j, c, 3)),
        );
      push(j, f);
    });
    if (!el.violation.checked && !colored) return;
    colored = el.violation.checked;
    joints.forEach((_, j) => {
      if (!kinds[j]) return;
      const x = Math.max(at(violation, before, j, 0, 1), at(violation, k, j, 0, 1));
      const level = Math.min(
        Math.max((Math.log10(Math.max(x, 1e-300)) - CLEAN) / (BAD - CLEAN), 0),
        1,
      );
      if (!colored || Number.isNaN(x)) color.copy(JOINT);
      else if (level < 0.5) color.set("#1a9850").lerp(new THREE.Color("#e6c229"), 2 * level);
      else color.set("#e6c229").lerp(new THREE.Color("#d7191c"), 2 * level - 1);
      marked[kinds[j]].dye(rank[j], color);
    });
  }

  function draw() {
    marks.visible = el.joints.checked;
    paths.visible = el.traces.checked && !live;
    arrows.visible = el.forces.checked;
    el.labels.hidden = !el.names.checked;
    el.colors.hidden = !el.violation.checked;
    el.arrows.hidden = !el.forces.checked;
    lamp.position.copy(camera.position).add(V(0.3 * size, 0.2 * size, 0.6 * size));
    lamp.target.position.copy(orbit.target);
    lamp.target.updateMatrixWorld();
    renderer.render(scene, camera);
    if (!el.names.checked) return;
    const taken = [];
    for (const title of titles) {
      const seen = title.at().project(camera),
        left = ((seen.x + 1) / 2) * width + 7;
      title.wide ||= title.x.offsetWidth;
      title.high ||= title.x.offsetHeight;
      // below the ones before, where it would cover them
      let top = ((1 - seen.y) / 2) * height + title.up;
      const { wide, high } = title,
        covered = () =>
          taken.find(b => left < b[0] + b[2] && b[0] < left + wide && Math.abs(top - b[1]) < high);
      for (let other = covered(); other; other = covered()) top = other[1] + high;
      taken.push([left, top, wide]);
      title.x.style.transform = `translate(${left}px, ${top}px)`;
    }
  }

  // what changes the page's layout, and is read at leisure
  function say() {
    const gone = end > start ? (now - start) / (end - start) : 0;
    el.scrub.value = gone;
    el.cursor.style.marginLeft = `calc(8px + ${gone} * (100% - 16px))`;
    el.time.textContent = live
      ? `t = ${live.time().toFixed(3)} s, simulated`
      : `t = ${now.toFixed(3)} s of ${digits(end)} s`;
    el.arrows.textContent = strongest > 0 ? `longest arrow ${digits(strongest)} N` : "";
    if (live) live.say();
  }

  // --- time ---
  function tick(clock) {
    if (live)
      stale = live.tick(playing ? ((clock - last) / 1000) * Number(el.speed.value) : 0) || stale;
    else if (playing) {
      now += ((clock - last) / 1000) * Number(el.speed.value);
      if (now > end) {
        if (el.loop.checked && end > start) now = start + ((now - start) % (end - start));
        else {
          now = end;
          play(false);
        }
      }
      stale = true;
    }
    last = clock;
    if (stale || (!resting && clock - drawn > REST)) {
      if (stale) drawn = clock;
      if (stale === resting) sharpen(!stale);
      stale = false;
      show();
      draw();
      if (resting || !software || clock - said > SAY) {
        said = clock;
        say();
      }
    }
    requestAnimationFrame(tick);
  }
  function play(on) {
    if (on && now >= end && !live) now = start;
    playing = on;
    el.play.textContent = on ? "❚❚" : "▶";
    el.play.setAttribute("aria-pressed", on);
    say();
  }
  const go = time => {
    live = null;
    [places, axes, poses] = played;
    now = Math.min(Math.max(time, start), end);
    stale = true;
  };
  const toggle = id => {
    if (!el[id].disabled) {
      el[id].checked = !el[id].checked;
      stale = true;
    }
  };
  const faster = by => {
    el.speed.selectedIndex = Math.min(Math.max(el.speed.selectedIndex + by, 0), SPEEDS.length - 1);
  };
  const KEYS = {
    " ": () => play(!playing),
    ArrowLeft: () => go(now - (end - start) / (frames - 1)),
    ArrowRight: () => go(now + (end - start) / (frames - 1)),
    Home: () => go(start),
    End: () => go(end),
    "+": () => faster(1),
    "-": () => faster(-1),
    n: () => toggle("names"),
    j: () => toggle("joints"),
    p: () => toggle("traces"),
    f: () => toggle("forces"),
    v: () => toggle("violation"),
    r: whole,
    c: () => {
      if (travels) {
        el.follow.checked = !el.follow.checked;
        whole();
      }
    },
  };
  addEventListener("keydown", event => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.target === el.speed ||
      !(event.key in KEYS)
    )
      return;
    event.preventDefault(); // also of a focused button or box: a key has one meaning here
    KEYS[event.key]();
  });
  addEventListener("keyup", event => {
    if (event.key === " " && event.target !== el.speed) event.preventDefault();
  });
  SPEEDS.forEach(x => el.speed.add(new Option(`${x} ×`, x)));
  // a run lasts about 4 to 30 s on the screen
  const fit = Math.min(Math.max((end - start) / 30, 1), Math.max((end - start) / 4, 1e-9));
  el.speed.selectedIndex = SPEEDS.reduce(
    (best, x, i) =>
      Math.abs(Math.log(x / fit)) < Math.abs(Math.log(SPEEDS[best] / fit)) ? i : best,
    0,
  );
  el.play.addEventListener("click", () => play(!playing));
  el.scrub.addEventListener("input", () => {
    go(start + Number(el.scrub.value) * (end - start));
    play(false);
  });
  el.reset.addEventListener("click", whole);
  ["names", "joints", "traces", "forces", "violation"].forEach(id =>
    el[id].addEventListener("change", () => {
      stale = true;
    }),
  );
  el.follow.checked = travels;
  el.follow.disabled = !travels;
  el.follow.addEventListener("change", whole);
  el.names.checked = titles.length > 0 && titles.length <= 12;
  for (const [id, there] of Object.entries({
    names: titles.length,
    joints: joints.length,
    traces: trails.length,
    forces: strongest,
    violation: joints.length,
  })) {
    el[id].disabled = !there;
    el[id].checked &&= there > 0;
  }
  orbit.addEventListener("change", look);
  if (data.contact) {
    bandsOf(data.contact, el, start, end, time => {
      play(false);
      go(time);
    });
    el.cursor.hidden = false;
  }
  if (data.live)
    simulation(data, el, {
      // places of points, between places and the screen, and pixels of a unit of length
      place,
      project: x => x.project(camera),
      unproject: (x, y, depth) => V(x, y, depth).unproject(camera),
      scale: () => height / sight(),
      reach: reachOf,
      // the line along which something is pulled, or none
      pull: (from, to) => {
        pulled.visible = Boolean(from);
        if (from) movePull(0, from, to);
        stale = true;
      },
      orbit,
      begin: made => {
        [places, axes, poses] = made.arrays;
        live = made;
        stale = true;
        play(true);
      },
      live: () => live !== null,
      time: () => now,
      changed: () => {
        stale = true;
      },
    });
  new ResizeObserver(resize).observe(el.stage);
  whole();
  requestAnimationFrame(clock => {
    last = clock;
    tick(clock);
  });
})();
