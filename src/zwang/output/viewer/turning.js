// Decides how gaps are held from an instant on, at which a step has ended because one of them closes
// or pulls, as zwang.simulation.contact does along a run:
//   0 ≤ ġ⁺ + e ġ⁻ ⊥ Λ ≥ 0    of those that are hit,    0 ≤ g̈ ⊥ λ ≥ 0    of those that stay closed.
"use strict";
function turning(module, at, given) {
  const { at_instant, solution, agreement, slowest, soon, chatter, span, poisson } = given,
    n = at.gap.length,
    nq = at.y.length - at.response.length / n,
    all = [...Array(n).keys()],
    sum = list => list.reduce((a, x) => a + x, 0),
    most = list => list.reduce((a, x) => Math.max(a, Math.abs(x)), 0),
    times = (A, x) => all.map(i => sum(x.map((xj, j) => A[i * n + j] * xj)));
  let fastest, turns, idle;
  const hold = rows => at.controller_state.forEach((_, i, x) => (x[i] = rows.includes(i) ? 1 : 0));
  // S x = r by the factor of Cholesky, refined once
  function solved(S, r) {
    const L = S.map(row => [...row]);
    for (let j = 0; j < r.length; j++)
      for (let i = j; i < r.length; i++) {
        const left = S[i][j] - sum(L[i].slice(0, j).map((x, k) => x * L[j][k]));
        L[i][j] = i === j ? Math.sqrt(left) : left / L[j][j];
      }
    const once = b => {
      const x = [...b];
      for (let i = 0; i < x.length; i++) {
        for (let k = 0; k < i; k++) x[i] -= L[i][k] * x[k];
        x[i] /= L[i][i];
      }
      for (let i = x.length - 1; i >= 0; i--) {
        for (let k = i + 1; k < x.length; k++) x[i] -= L[k][i] * x[k];
        x[i] /= L[i][i];
      }
      return x;
    };
    const x = once(r),
      more = once(r.map((b, i) => b - sum(S[i].map((s, j) => s * x[j]))));
    return x.map((y, i) => y + more[i]);
  }
  // forces or impulses that only push, of some gaps: 0 ≤ D x + c ⊥ x ≥ 0. Those that would close
  // push one after another, and those that would pull no longer do (Lawson and Hanson 1974); null
  // if no force opens one.
  function pushes(c, rows, length) {
    const D = (i, j) => at.compliance[i * n + j] / (length[i] * length[j]),
      size = i => c[i] / length[i];
    if (rows.some(i => !(D(i, i) > solution))) return null;
    let x = Array(n).fill(0),
      own = [],
      refused = [];
    const noise = solution * most(rows.map(size));
    for (;;) {
      const rate = i => size(i) + sum(own.map(j => D(i, j) * x[j])),
        closing = rows
          .filter(i => !own.includes(i) && !refused.includes(i) && rate(i) < -noise)
          .sort((i, j) => rate(i) - rate(j));
      if (!closing.length) return x.map((y, i) => y / length[i]);
      const added = closing[0];
      own.push(added);
      for (;;) {
        const z = solved(
          own.map(i => own.map(j => D(i, j))),
          own.map(i => -size(i)),
        );
        const pulls = own.filter((_, k) => !(z[k] > 0)),
          share = i => x[i] / (x[i] - z[own.indexOf(i)]),
          part = Math.min(1, ...pulls.map(i => share(i) || 0));
        own.forEach((i, k) => (x[i] += part * ((z[k] || 0) - x[i])));
        const left = pulls.filter(i => !(x[i] > noise));
        left.forEach(i => (x[i] = 0));
        if (left.includes(added)) refused.push(added);
        else refused = [];
        own = own.filter(i => !left.includes(i));
        if (!left.length) break;
      }
    }
  }
  function collide(shut, slow, length) {
    const [, pull, place] = at.sizes,
      fast = most(shut.map(i => Math.min(at.rate[i] / length[i], 0)));
    fastest = Math.max(fastest, fast);
    if (fast <= slowest * fastest) {
      // rebounds that become shorter without end
      hold(shut);
      module.place();
      return true;
    }
    const e = all.map(i => {
      const rise = length[i] * Math.sqrt(2 * pull * solution * place);
      return at.restitution[i] * -at.rate[i] <= rise ? 0 : at.restitution[i];
    });
    const met = [...at.rate].map((x, i) => x * (1 + (poisson[i] ? 0 : e[i])));
    let impulse = pushes(met, shut, length);
    if (impulse === null) return false;
    if (shut.some(i => poisson[i])) {
      const back = impulse.map((x, i) => x * (1 + (poisson[i] ? e[i] : 0))),
        again = times(at.compliance, back).map((x, i) => met[i] + x),
        more = pushes(again, shut, length);
      if (more === null) return false;
      impulse = back.map((x, i) => x + more[i]);
    }
    const nv = at.y.length - nq;
    for (let k = 0; k < nv; k++)
      at.y[nq + k] += sum(impulse.map((x, i) => x * at.response[i * nv + k]));
    return true;
  }
  // whether anything has changed; null if no forces keep all gaps from closing
  function decide(fired) {
    const was = [...at.controller_state].map(x => x > 0);
    module.touch();
    const [speed, pull, place] = at.sizes,
      length = all.map(i => Math.sqrt(at.free[i * n + i]) || 1),
      slow = length.map(x => x * (at_instant * pull * span + solution * speed)),
      near = i => at_instant * (length[i] * place + Math.abs(at.rate[i]) * span),
      shut = all.filter(i => at.gap[i] < Infinity && (was[i] || at.gap[i] <= near(i))),
      hit = shut.some(i => at.rate[i] < -slow[i]);
    if (hit) {
      if (!collide(shut, slow, length)) return null;
      module.touch();
    }
    const staying = shut.filter(i => Math.abs(at.rate[i]) <= slow[i]);
    if (staying.some(i => !was[i])) {
      // exactly closed, with the velocity that there is
      const v = at.y.slice(nq);
      hold(staying);
      module.place();
      at.y.set(v, nq);
      module.touch();
    }
    const push = pushes(at.left, staying, length);
    if (push === null) return null;
    const rate = times(at.compliance, push).map((x, i) => x + at.left[i]),
      acting = Math.sqrt(sum(times(at.free, push).map((x, i) => x * push[i]))),
      zero = length.map(x => solution * x * Math.max(at.sizes[1], acting)),
      falls = i => fired[i] && was[i] && !hit;
    let on = staying.filter(i => rate[i] <= zero[i] && !(falls(i) && push[i] <= 0));
    // of those that repeat others, none pulls, and one whose force has fallen to zero lets go
    for (;;) {
      hold(on);
      module.load();
      const size = i => at.load[i] * length[i],
        small = agreement * most(on.map(size)),
        [least] = [...on].sort((i, j) => size(i) - size(j)),
        gone = on.find(i => falls(i) && Math.abs(size(i)) <= small) ?? least;
      if (!(gone >= 0) || !(size(gone) < -small || falls(gone))) break;
      if (!(Math.abs(size(gone)) <= small) && size(gone) >= 0) break;
      on = on.filter(i => i !== gone);
    }
    module.place();
    module.load();
    // what is round-off above zero has not risen yet
    at.events.forEach((x, i) => (at.events[i] = Math.min(x, 0)));
    return hit || all.some(i => was[i] !== on.includes(i));
  }
  const made = {
    // where a motion begins
    begin() {
      fastest = idle = 0;
      turns = [];
      hold([]);
      made.settle();
    },
    // from here on, where a step has ended on an event
    settle() {
      const t = at.t[0],
        changed = decide([...at.fired]),
        before = turns.findLast(x => x < t);
      if (changed) turns.push(t);
      idle = turns.at(-1) === t || t - made.last <= agreement * span ? idle + 1 : 0;
      made.last = t;
      // the steps before are the best guess of the scale after
      const steps = [...at.lengths].filter(x => x > 0),
        h = Math.max(given.first, ...steps);
      at.h[0] = before < t ? Math.min(h, soon * (t - before)) : h;
      at.ratio[0] = 1;
      at.ceiling[0] = Infinity;
      at.refused[0] = 0n;
      at.fired.fill(0);
      at.lengths.fill(NaN);
      at.result[0] = BigInt(changed === null ? given.paradox : idle > chatter ? given.chattering : 0);
    },
    // from here on, where forces or numbers have changed
    changed() {
      if (decide(Array(n).fill(0)) === null) at.result[0] = BigInt(given.paradox);
    },
    // onto the constraints, and no gap below zero
    place() {
      hold([]);
      module.place();
      module.touch();
      hold(all.filter(i => at.gap[i] < 0));
      module.place();
    },
    last: NaN,
    times: () => turns,
  };
  return made;
}
