// Gaps and frictions: bands over time below the slider, and forces of contacts in their cones.
"use strict";
// a row for each gap and friction: thick where it is closed or sticks, thin where it slides, and a
// stroke for each impulse
function bandsOf({ bands, unit }, el, start, end, go) {
  const SVG = "http://www.w3.org/2000/svg",
    WIDE = 1000, // of a row, in its own unit; 10 are its height
    ROOM = Math.min(130, innerHeight / 5), // of all rows [pixel]
    high = Math.min(Math.max(ROOM / bands.length, 3), 15),
    across = t => ((t - start) / (end - start)) * WIDE,
    sizes = bands.flatMap(band => band.impulses.filter((_, i) => i % 2)),
    strongest = Math.max(...sizes, 0);
  const pairs = list => [...Array(list.length / 2)].map((_, i) => [list[2 * i], list[2 * i + 1]]);
  bands.forEach((band, row) => {
    const svg = document.createElementNS(SVG, "svg"),
      name = document.createElement("span"),
      line = times => times.map(([a, b]) => `M${across(a)} 5H${across(b)}`).join(""),
      drawn = {
        holds: line(pairs(band.holds)),
        slides: line(pairs(band.slides)),
        impulses: pairs(band.impulses)
          .map(([t, size]) => `M${across(t)} 10V${10 - (10 * size) / strongest}`)
          .join(""),
      };
    svg.setAttribute("viewBox", `0 0 ${WIDE} 10`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("class", `band ${band.gap ? "gap" : "friction"}`);
    for (const [kind, d] of Object.entries(drawn)) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", kind);
      path.setAttribute("d", d);
      svg.append(path);
    }
    svg.addEventListener("pointerdown", event => {
      const box = svg.getBoundingClientRect();
      go(start + ((event.clientX - box.left) / box.width) * (end - start));
    });
    svg.style.gridRow = name.style.gridRow = row + 2;
    svg.style.height = `${high}px`;
    name.style.fontSize = `${Math.min(high - 2, 12)}px`;
    name.className = "band";
    name.textContent = name.title = high < 10 ? "" : band.name;
    el.player.append(svg, name);
  });
  el.cursor.style.gridRow = `2 / span ${bands.length}`;
  const count = x => Number(x.toPrecision(3));
  el.impulses.textContent = strongest > 0 ? `longest impulse ${count(strongest)} ${unit}` : "";
}

// the forces of contacts, and their cones: which state they are in follows from the bands
function contactsOf({ bands, points, forces }, kit, parent, reach) {
  const n = points.length,
    given = forces && curves(forces),
    rubs = points.map((x, i) => i).filter(i => points[i].coefficient > 0),
    color = { sticks: new THREE.Color("#d55e00"), slides: new THREE.Color("#e6c229") },
    cones = kit.partsOf("funnel", Array(rubs.length).fill("#d55e00"), reach, parent, 0.3),
    turn = new THREE.Quaternion(),
    up = new THREE.Vector3(0, 0, 1),
    none = new THREE.Vector3();
  Object.assign(cones.set.material, { side: THREE.DoubleSide, depthWrite: false });
  const during = (times, t) => {
    for (let i = 0; i < times.length; i += 2) if (times[i] <= t && t <= times[i + 1]) return true;
    return false;
  };
  // one of the two forces at a sample
  const at = (sample, i, which) => {
    const k = 6 * (n * sample + i) + 3 * which;
    return new THREE.Vector3(given[k], given[k + 1], given[k + 2]);
  };
  return {
    count: n,
    strongest: () => {
      let most = 0;
      for (let k = 0; given && k < given.length; k += 6)
        most = Math.max(most, Math.hypot(...[0, 1, 2].map(c => given[k + c] + given[k + c + 3])));
      return most;
    },
    // the force of each contact between two samples, zero where it is open
    forces(before, after, part, now) {
      return points.map(({ gap }, i) => {
        if (!during(bands[gap].holds, now)) return [none, none];
        const open = [before, after].map(k => at(k, i, 0).lengthSq() === 0),
          w = open[0] ? 1 : open[1] ? 0 : part;
        return [0, 1].map(which => at(before, i, which).lerp(at(after, i, which), w));
      });
    },
    draw(found, place, now) {
      rubs.forEach((i, k) => {
        const { friction, coefficient, point } = points[i],
          [normal] = found[i],
          angle = Math.atan(coefficient),
          shown = normal.lengthSq() > 0 ? reach : 0,
          wide = shown * Math.sin(angle);
        turn.setFromUnitVectors(up, normal.clone().normalize());
        cones.put(k, place(point), turn, wide, wide, shown * Math.cos(angle));
        cones.dye(k, during(bands[friction].holds, now) ? color.sticks : color.slides);
      });
    },
  };
}
