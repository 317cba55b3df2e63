// Draws parts of one shape by one call however many they are, and strokes of one color by another:
// where a processor draws by itself, a call and many corners for each would be most of a frame.
"use strict";
function drawnByProcessor() {
  const gl = document.createElement("canvas").getContext("webgl2"),
    info = gl?.getExtension("WEBGL_debug_renderer_info"),
    name = gl?.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER) ?? "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
function drawing() {
  const lines = [], // materials of lines, whose width is in pixels
    sets = [],
    known = new Map(),
    pose = new THREE.Matrix4(),
    size = new THREE.Vector3();
  // along z, of radius and length 1, with n corners around
  const SHAPES = {
    cube: () => new THREE.BoxGeometry(1, 1, 1),
    ball: n => new THREE.SphereGeometry(1, n, n / 2),
    dome: n =>
      new THREE.SphereGeometry(1, n, n / 4, 0, 2 * Math.PI, 0, Math.PI / 2).rotateX(Math.PI / 2),
    tube: n => new THREE.CylinderGeometry(1, 1, 1, n, 1, true).rotateX(Math.PI / 2),
    rod: n => new THREE.CylinderGeometry(1, 1, 1, n).rotateX(Math.PI / 2),
    funnel: n =>
      new THREE.ConeGeometry(1, 1, n, 1, true).rotateX(-Math.PI / 2).translate(0, 0, 0.5),
    tip: n => new THREE.ConeGeometry(1, 1, n).rotateX(Math.PI / 2),
  };
  const CORNERS = [8, 12, 16, 24, 32, 48, 64],
    FLAT = 0.5; // farthest that a side may be from its circle [pixel of the screen]
  function shapeOf(kind, n) {
    const name = `${kind} ${n}`;
    if (!known.has(name)) known.set(name, SHAPES[kind](n));
    return known.get(name);
  }
  const lit = (color, opacity = 1) =>
    new THREE.MeshLambertMaterial({ color, transparent: opacity < 1, opacity });
  function wide(color, linewidth) {
    lines.push(new THREE.LineMaterial({ color, linewidth, transparent: true }));
    return lines.at(-1);
  }
  // parts of one kind, each with its color; radius is the largest that one of them has
  function partsOf(kind, colors, radius, parent, opacity = 1) {
    const shape = shapeOf(kind, CORNERS[0]),
      set = new THREE.InstancedMesh(shape, lit("#ffffff", opacity), colors.length);
    set.frustumCulled = false;
    const made = {
      set,
      dye(i, color) {
        set.setColorAt(i, color);
        set.instanceColor.needsUpdate = true;
      },
      pose(i, matrix) {
        set.setMatrixAt(i, matrix);
        set.instanceMatrix.needsUpdate = true;
      },
      put: (i, place, turn, x, y = x, z = y) =>
        made.pose(i, pose.compose(place, turn, size.set(x, y, z))),
      round(pixels) {
        const off = n => radius * pixels * (1 - Math.cos(Math.PI / n));
        set.geometry = shapeOf(kind, CORNERS.find(n => off(n) < FLAT) ?? CORNERS.at(-1));
      },
    };
    colors.forEach((color, i) => made.dye(i, new THREE.Color(color)));
    parent.add(set);
    sets.push(made);
    return made;
  }
  // strokes between pairs of points, six numbers each, and a function that moves one
  function strokesOf(corners, color, width, parent) {
    const geometry = new THREE.LineSegmentsGeometry().setPositions(corners),
      line = new THREE.LineSegments2(geometry, wide(color, width)),
      { data } = geometry.attributes.instanceStart;
    line.frustumCulled = false;
    parent.add(line);
    return (i, from, to) => {
      from.toArray(data.array, 6 * i);
      to.toArray(data.array, 6 * i + 3);
      data.needsUpdate = true;
    };
  }
  function polyline(corners, material, parent) {
    const line = new THREE.Line2(new THREE.LineGeometry().setPositions(corners), material);
    parent.add(line);
    return line;
  }
  // pixels of the window, and pixels of the screen for a unit of length in its middle
  function seenBy(width, height, pixels) {
    lines.forEach(m => m.resolution.set(width, height));
    sets.forEach(x => x.round(pixels));
  }
  return { lit, wide, partsOf, strokesOf, polyline, seenBy };
}

// Shapes that bodies carry: groups for what is drawn one by one, and what moves the rest.
function shapesOf(bodies, parent, { lit, partsOf, strokesOf }, { space, edge, colorOf }) {
  // kind, place and scale of the parts of a shape
  const PARTS = {
    box: s => [["cube", 0, s]],
    sphere: ([r]) => [["ball", 0, [r, r, r]]],
    ellipsoid: s => [["ball", 0, s]],
    cylinder: ([r, long]) => [["rod", 0, [r, r, long]]],
    capsule: ([r, long]) => [
      ["tube", 0, [r, r, long]],
      ["dome", long / 2, [r, r, r]],
      ["dome", -long / 2, [r, -r, -r]], // half a turn about x
    ],
    mesh: () => [],
  };
  const alike = new Map();
  function loaded(shape, material) {
    const bytes = bytesOf(shape.mesh),
      found =
        shape.format === "stl"
          ? new THREE.Mesh(new THREE.STLLoader().parse(bytes.buffer))
          : new THREE.OBJLoader().parse(new TextDecoder().decode(bytes));
    material.side = THREE.DoubleSide;
    found.traverse(part => {
      if (part.isMesh) part.material = material;
    });
    found.scale.set(...shape.size);
    return found;
  }
  // rims and spokes, so that one sees it turn
  function rims([r, long]) {
    const around = i => [r * Math.cos((i * Math.PI) / 32), r * Math.sin((i * Math.PI) / 32)];
    return (space ? [-0.51 * long, 0.51 * long] : [0.51 * long]).flatMap(z => [
      ...[0, 0, z, r, 0, z],
      ...[...Array(64)].flatMap((_, i) => [...around(i), z, ...around(i + 1), z]),
    ]);
  }
  const groups = bodies.map((body, b) => {
    const group = new THREE.Group();
    for (const shape of body.shapes) {
      const s = shape.size,
        color = shape.color ? new THREE.Color(...shape.color.slice(0, 3)) : colorOf(body.owner),
        opacity = shape.color ? shape.color[3] : space ? 1 : 0.35,
        held = new THREE.Group();
      held.position.set(...shape.position);
      held.quaternion.set(...shape.orientation.slice(1), shape.orientation[0]);
      held.updateMatrix();
      group.add(held);
      for (const [kind, z, scale] of PARTS[shape.kind](s)) {
        const name = `${kind} ${opacity}`,
          own = new THREE.Matrix4().makeScale(...scale).setPosition(0, 0, z);
        if (!alike.has(name)) alike.set(name, { kind, opacity, all: [] });
        own.premultiply(held.matrix);
        alike.get(name).all.push({ b, own, color, radius: Math.max(...s) });
      }
      if (shape.kind === "cylinder") strokesOf(rims(s), edge, 1.4, held);
      if (shape.kind === "mesh") held.add(loaded(shape, lit(color, opacity)));
    }
    parent.add(group);
    return group;
  });
  const sets = [...alike.values()].map(({ kind, opacity, all }) => {
    const colors = all.map(x => x.color),
      radius = Math.max(...all.map(x => x.radius));
    return { all, parts: partsOf(kind, colors, radius, parent, opacity) };
  });
  const whole = new THREE.Matrix4();
  function follow() {
    groups.forEach(group => group.updateMatrix());
    for (const { all, parts } of sets)
      all.forEach(({ b, own }, i) => parts.pose(i, whole.multiplyMatrices(groups[b].matrix, own)));
  }
  return { groups, follow };
}
