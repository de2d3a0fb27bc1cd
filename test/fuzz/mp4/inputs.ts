import { readdirSync, readFileSync } from 'node:fs';
import { join as path } from 'node:path';
import { avc1, film, fragmented, join, mp4a, mvhd, tables, trak } from '../../mp4/build.ts';
import { damage, generator } from '../rtmp/damage.ts';
import { damageBoxes } from './damage-boxes.ts';

/** Films of ffmpeg (`record.ts`), and what it does not write. */
function seeds(): Uint8Array[] {
  const folder = path(import.meta.dirname, 'seeds');
  const recorded = readdirSync(folder)
    .sort()
    .map((name) => new Uint8Array(readFileSync(path(folder, name))));
  const several = trak({ entries: 2, entry: join(avc1(), avc1({ type: 'avc3' })) });
  const sound = trak({ id: 2, handler: 'soun', entry: mp4a(), tables: Object.values(tables(40, 3)) });
  return [...recorded, film(mvhd(), trak()), film(mvhd(), several, sound), fragmented()];
}

const films = seeds();

/** The input of this number: always the same for the same seed. */
export function input(number: number, options: { readonly seed: number }): Uint8Array {
  const random = generator(options.seed * 0x9e3779b1 + number);
  const whole = films[Math.floor(random() * films.length)];
  const kind = random();
  if (kind < 0.02) return whole.subarray(0, Math.floor(random() * whole.length));
  if (kind < 0.7) return damageBoxes(whole, random);
  // Bytes of the index: what lies in mdat is not looked at.
  const from = random() < 0.9 ? Math.max(0, Buffer.from(whole).indexOf('moov', 0, 'latin1') - 4) : 0;
  const damaged = damage(whole, { random, from });
  return random() < 0.3 ? damageBoxes(damaged, random) : damaged;
}
