// The steps of zw.simulate, printed as WebAssembly, and the arrays that they work on.
"use strict";
function codeOf({ binary, fused }) {
  const code = unpack(bytesOf(binary.packed), binary.size);
  // a browser without fused products rounds twice
  if (!WebAssembly.validate(code)) code.set(fused[1], fused[0]);
  return code;
}
function stepsOf(module, given) {
  const kinds = { Float64Array, BigInt64Array, Uint8Array },
    at = Object.fromEntries(
      Object.entries(given.places).map(([name, [byte, kind, count]]) => [
        name,
        new kinds[kind](module.memory.buffer, byte, count),
      ]),
    ),
    turn = given.turning && turning(module, at, given.turning),
    STOPPED = 7n; // by an event, after which the motion goes on
  const put = (name, x) =>
    at[name].set(x.map(at[name] instanceof BigInt64Array ? BigInt : Number));
  const steps = {
    at,
    turn,
    put,
    // at the start, by the parameters of now if they are kept
    reset(keep) {
      const kept = name => keep && (name === "p" || name.startsWith("own "));
      for (const [name, x] of Object.entries(given.start)) if (!kept(name)) put(name, x);
      if (keep) steps.place();
      if (turn) turn.begin();
    },
    // onto the constraints; which gaps are closed there is decided anew
    place() {
      if (turn) at.controller_state.fill(0);
      module.place();
    },
    // some steps towards a time
    advance(t) {
      at.until[0] = t;
      module.advance();
      if (turn && at.result[0] === STOPPED) turn.settle();
    },
    ended: () => at.result[0] !== 0n,
  };
  return steps;
}
// functions of Math that a module may ask for
const MATH = Object.fromEntries(Object.getOwnPropertyNames(Math).map(name => [name, Math[name]]));
MATH.exp2 = x => 2 ** x;
MATH.fmod = (x, y) => x % y;
