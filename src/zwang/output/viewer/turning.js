// When the module decides anew how gaps and dry frictions are held: where a motion begins, where a
// step has ended because one of them opens, closes, sticks or slides, and where forces have
// changed; and which step is tried after that, as zwang.simulation.turning has it.
"use strict";
function turning(module, at, given) {
  const { agreement, soon, chatter, span } = given;
  let turns, idle, last;
  function decide() {
    module.change();
    at.fired.fill(0);
    return at.changed[0] > 0;
  }
  const made = {
    begin() {
      at.fastest[0] = idle = 0;
      turns = [];
      last = NaN;
      at.controller_state.fill(0);
      at.fired.fill(0);
      made.settle();
    },
    settle() {
      const t = at.t[0],
        before = turns.findLast(x => x < t);
      if (decide()) turns.push(t);
      idle = t - last <= agreement * span ? idle + 1 : 0;
      last = t;
      if (idle > chatter && at.result[0] === 0n) at.result[0] = BigInt(given.chattering);
      // the steps before are the best guess of the scale after
      const steps = [...at.lengths].filter(x => x > 0),
        h = Math.max(given.first, ...steps);
      at.h[0] = before < t ? Math.min(h, soon * (t - before)) : h;
      at.ratio[0] = 1;
      at.ceiling[0] = Infinity;
      at.refused[0] = 0n;
      at.lengths.fill(NaN);
    },
    changed() {
      at.fired.fill(0);
      decide();
    },
    times: () => turns,
  };
  return made;
}
