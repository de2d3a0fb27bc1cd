/** A server that pushes a film without end: `<film> <url> <PATH>`. Prints the id of its ffmpeg once it is connected. */
import { readFilm } from './srt-film.ts';
import { sender } from './srt-kit.ts';

const [, , path, url, search] = process.argv;
const { push, processes } = sender({ path: Bun.which('ffmpeg') ?? '', env: { PATH: search } });
await push(url, await readFilm(path), { loop: true }).accepted;
process.stdout.write(`${processes[0].pid}\n`);
