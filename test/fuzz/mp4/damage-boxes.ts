import { join } from '../../mp4/build.ts';

/** A place of a box in the bytes, whatever is in it. */
interface Place {
  readonly at: number;
  readonly end: number;
  /** Where the boxes it is in begin. */
  readonly parents: readonly number[];
}

/** Those that have boxes in them, and how many bytes come before those. */
const containers: Readonly<Record<string, number>> = {
  moov: 8,
  trak: 8,
  mdia: 8,
  minf: 8,
  stbl: 8,
  edts: 8,
  dinf: 8,
  mvex: 8,
  moof: 8,
  traf: 8,
  tref: 8,
  dref: 16,
  stsd: 16,
  avc1: 86,
  mp4a: 36,
};
const edges = [
  0, 1, 2, 7, 8, 9, 15, 16, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
];

/** A copy with a few boxes made wrong as a box: its size, its type, a number in it, its place, how often it is there. */
export function damageBoxes(whole: Uint8Array, random: () => number): Uint8Array {
  const below = (most: number) => Math.floor(random() * most);
  let bytes = whole.slice();
  for (let round = 1 + below(3); round > 0; round -= 1) {
    const places = findPlaces(bytes);
    if (places.length === 0) return bytes;
    const place = places[below(places.length)];
    const other = places[below(places.length)];
    const { at, end } = place;
    const view = new DataView(bytes.buffer);
    const kind = below(8);
    if (kind === 0) view.setUint32(at, edges[below(edges.length)]);
    else if (kind === 1) bytes.copyWithin(at + 4, other.at + 4, other.at + 8);
    else if (kind === 2) bytes = resized(place, { bytes, into: new Uint8Array(0) });
    else if (kind === 3) {
      const box = bytes.slice(at, end);
      const times = random() < 0.1 ? 300 : 2;
      bytes = resized(place, { bytes, into: join(...Array.from({ length: times }, () => box)) });
    } else if (kind === 4) bytes = resized(place, { bytes, into: bytes.slice(other.at, other.end) });
    else if (kind === 5) {
      const cut = below(end - at);
      bytes = resized(place, { bytes, into: sized(bytes.slice(at, at + Math.max(8, cut))) });
    } else {
      // Numbers: mostly where counts and versions are.
      const offset = random() < 0.6 ? 8 + 4 * below(5) : below(Math.max(1, end - at));
      if (at + offset + 4 > end) continue;
      const before = view.getUint32(at + offset);
      view.setUint32(at + offset, random() < 0.3 ? before + below(5) - 2 : edges[below(edges.length)]);
    }
  }
  return bytes;
}

/** The bytes with something else in place of a box; the sizes of those around it follow. */
function resized(place: Place, options: { bytes: Uint8Array; into: Uint8Array }): Uint8Array<ArrayBuffer> {
  const { bytes, into } = options;
  const changed = join(bytes.subarray(0, place.at), into, bytes.subarray(place.end));
  const view = new DataView(changed.buffer);
  const grown = into.length - (place.end - place.at);
  for (const parent of place.parents) view.setUint32(parent, Math.max(8, view.getUint32(parent) + grown));
  return changed;
}

function sized(box: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  new DataView(box.buffer).setUint32(0, box.length);
  return box;
}

function findPlaces(bytes: Uint8Array<ArrayBuffer>): Place[] {
  const view = new DataView(bytes.buffer);
  const places: Place[] = [];
  const look = (from: number, options: { to: number; parents: readonly number[] }) => {
    const { to, parents } = options;
    for (let at = from; at + 8 <= to && places.length < 1000; ) {
      const size = view.getUint32(at);
      if (size < 8 || at + size > to) return;
      places.push({ at, end: at + size, parents });
      const inner = containers[String.fromCharCode(...bytes.subarray(at + 4, at + 8))];
      if (inner !== undefined && parents.length < 10) {
        look(at + inner, { to: at + size, parents: [...parents, at] });
      }
      at += size;
    }
  };
  look(0, { to: bytes.length, parents: [] });
  return places;
}
