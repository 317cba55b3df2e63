// The bytes that LZMA has packed (literals by three bits of the byte before, no positions), given
// how many they are. Source: I. Pavlov, LZMA specification, 2015 (public domain).
"use strict";
function unpack(packed, size) {
  const found = new Uint8Array(size),
    fresh = n => new Uint16Array(n).fill(1024), // chances of a zero, of 2048
    sizes = [8 * 768, 12, 12, 12, 12, 12, 12],
    [literals, match, repeated, first, second, third, longer] = sizes.map(fresh),
    lengths = () => ({ choice: fresh(2), low: fresh(8), middle: fresh(8), high: fresh(256) }),
    [others, again] = [lengths(), lengths()],
    [slots, exact, aligned] = [4 * 64, 115, 16].map(fresh);
  let from = 5,
    range = 0xffffffff,
    code = new DataView(packed.buffer, packed.byteOffset).getUint32(1);
  function normalize() {
    if (range >= 0x1000000) return;
    range = (range << 8) >>> 0;
    code = ((code << 8) | packed[from++]) >>> 0;
  }
  function bit(chances, k) {
    const chance = chances[k],
      bound = (range >>> 11) * chance,
      one = code >= bound;
    if (one) {
      range -= bound;
      code -= bound;
      chances[k] = chance - (chance >> 5);
    } else {
      range = bound;
      chances[k] = chance + ((2048 - chance) >> 5);
    }
    normalize();
    return one ? 1 : 0;
  }
  function tree(chances, shift, bits) {
    let node = 1;
    for (let k = 0; k < bits; k++) node = 2 * node + bit(chances, shift + node);
    return node - (1 << bits);
  }
  // the least bit first
  function reversed(chances, shift, bits) {
    let node = 1,
      sum = 0;
    for (let k = 0; k < bits; k++) {
      const one = bit(chances, shift + node);
      node = 2 * node + one;
      sum |= one << k;
    }
    return sum;
  }
  function length(of) {
    if (!bit(of.choice, 0)) return 2 + tree(of.low, 0, 3);
    return bit(of.choice, 1) ? 18 + tree(of.high, 0, 8) : 10 + tree(of.middle, 0, 3);
  }
  function distance(count) {
    const slot = tree(slots, 64 * Math.min(count - 2, 3), 6),
      bits = (slot >> 1) - 1;
    if (slot < 4) return slot;
    let far = (2 | (slot & 1)) << bits;
    if (slot < 14) return far + reversed(exact, far - slot, bits);
    for (let k = bits - 1; k >= 4; k--) {
      range >>>= 1;
      if (code >= range) {
        code -= range;
        far += 1 << k;
      }
      normalize();
    }
    return far + reversed(aligned, 0, 4);
  }
  const last = [0, 0, 0, 0];
  for (let at = 0, state = 0; at < size; ) {
    if (!bit(match, state)) {
      const shift = 768 * (at ? found[at - 1] >> 5 : 0);
      let node = 1;
      if (state >= 7) {
        // a byte that differs from the one that would have gone on: as long as it is that
        let like = found[at - last[0] - 1];
        for (let same = true; same && node < 256; like <<= 1) {
          const expected = (like >> 7) & 1,
            one = bit(literals, shift + 256 * (1 + expected) + node);
          node = 2 * node + one;
          same = one === expected;
        }
      }
      while (node < 256) node = 2 * node + bit(literals, shift + node);
      found[at++] = node;
      state -= state < 4 ? state : state < 10 ? 3 : 6;
      continue;
    }
    let count = 0,
      which = 0; // of the last four distances
    if (!bit(repeated, state)) {
      count = length(others);
      state = state < 7 ? 7 : 10;
      last.unshift(distance(count));
      last.pop();
    } else {
      if (bit(first, state)) which = bit(second, state) ? 2 + bit(third, state) : 1;
      else if (!bit(longer, state)) count = 1;
      last.unshift(...last.splice(which, 1));
      state = state < 7 ? (count ? 9 : 8) : 11;
      count ||= length(again);
    }
    for (; count > 0; count--, at++) found[at] = found[at - last[0] - 1];
  }
  return found;
}
const bytesOf = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
// numbers row by row, which were packed as curves over the rows, one plane of bytes after the other
function curves({ packed, size, rows, unit }) {
  const planes = unpack(bytesOf(packed), size),
    count = size / 4,
    columns = count / rows,
    bits = new Int32Array(count),
    found = new Float32Array(count),
    plain = new Float32Array(bits.buffer);
  for (let k = 0; k < size; k++) bits[k % count] |= planes[k] << (8 * Math.floor(k / count));
  for (let c = 0; c < columns; c++) {
    let [first, second, third] = [0, 0, 0];
    for (let r = 0, k = c * rows; r < rows; r++, k++) {
      // the third differences are small: sums of sums of them are the curve
      first += (bits[k] >>> 1) ^ -(bits[k] & 1);
      second += first;
      third += second;
      found[r * columns + c] = unit ? unit * third : plain[k];
    }
  }
  return found;
}
