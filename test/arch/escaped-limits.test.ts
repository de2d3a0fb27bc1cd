import { readFileSync } from 'node:fs';
import { Glob } from 'bun';
import ts from 'typescript';
import { expect, it, test } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;

/** Numbers that are no bounds of their own, and why. (Hexadecimal are those that a format writes so: flags, types, masks.) */
const noBounds: Readonly<Record<string, string>> = {
  'core/duration.ts units.s': 'what a second is',
  'core/duration.ts units.m': 'what a minute is',
  'core/duration.ts units.h': 'what an hour is',
  'core/duration.ts units.d': 'what a day is',
  'machines/asset.ts trouble': 'in the table of plugins/assets: a machine imports nothing',
  'machines/asset.ts remembered': 'in the table of plugins/assets: a machine imports nothing',
  'machines/broadcast.ts takeoverBrake.window': 'in the table of plugins/streams: a machine imports nothing',
  'machines/broadcast.ts takeoverBrake.pause': 'in the table of plugins/streams: a machine imports nothing',
  'machines/broadcast.ts mostNodes': 'in the table of plugins/streams: a machine imports nothing',
  'machines/push.ts slowPause': 'in the table of plugins/multistream: a machine imports nothing',
  'machines/webhook-delivery.ts trouble': 'in the table of plugins/webhooks: a machine imports nothing',
  'core/near-miss.ts maxLength': 'a longer name is like no other; nothing is refused for it',
  'core/size.ts units.KB': 'what a size is counted in',
  'core/size.ts units.MB': 'what a size is counted in',
  'core/size.ts units.GB': 'what a size is counted in',
  'core/size.ts units.TB': 'what a size is counted in',
  'core/vod/media-playlist.ts longestEnds': 'bytes: what the tags around the segments can be at most',
  'core/vod/media-playlist.ts longestSegment': 'bytes: what the tags of a segment can be at most',
  'plugins/assets/uploads/url.ts secretSize': 'bytes of a key, by its hash',
  'plugins/tasks/contract.ts maximum': 'all of it: 0 to 1',
  'plugins/health/history.ts FIRST_TEXT': 'the first bit behind those of the issues',
  'plugins/stills/web-vtt.ts SECOND': 'ms: what a second is',
  'runtime/drivers/blobs/s3/parts.ts firstRoom': 'bytes: what a part begins with in memory',
  'runtime/drivers/clock/system.ts longestWait': 'a longer wait is made of several',
  'runtime/drivers/clock/system.ts slack': 'from where on a clock was set back',
  'runtime/drivers/store/redis/rows.ts timeLength': 'digits of the largest whole number of a double',
  'runtime/ffmpeg/h264.ts NEVER': 'so many pictures that key frames which are forced come first',
  'runtime/intake/mark.ts digits': 'of the largest whole number of a double',
  "runtime/ipfs/pack-file.ts cuts.'unixfs-v0-2015'.chunk": 'by the profile of IPIP-499',
  "runtime/ipfs/pack-file.ts cuts.'unixfs-v0-2015'.links": 'by the profile of IPIP-499',
  "runtime/ipfs/pack-file.ts cuts.'unixfs-v1-2025'.chunk": 'by the profile of IPIP-499',
  "runtime/ipfs/pack-file.ts cuts.'unixfs-v1-2025'.links": 'by the profile of IPIP-499',
  'runtime/main.ts badConfig': 'an exit code',
  'runtime/media/codecs/hevc.ts SPS': 'a type of NAL unit, by the format',
  'runtime/media/hls/ingest.ts encoderLength': 'characters of a name in the log, with its reason beside it',
  'runtime/media/hls/output.ts ORIGIN': 'where the timeline begins',
  'runtime/media/hls/output.ts QUARTER': 'what a number of the media sequence stands for',
  'runtime/media/hls/pool.ts SMALLEST': 'the smallest class of buffers',
  'runtime/media/recording/file/moov.ts TIMESCALE': 'what the time of a film is counted in',
  'runtime/media/renditions/live/output-movie.ts TICKS': 'what its times are counted in',
  'runtime/media/renditions/live/picture-order.ts MANY': 'pictures: how seldom they are forgotten',
  'runtime/media/sink.ts SMALLEST': 'bytes: what a freed arena begins with',
  'runtime/media/rtmp/chunk-parser.ts LONGEST_HEADER': 'what a chunk header can be at most, by its format',
  'runtime/media/rtmp/handshake.ts SIZE': 'of C1 and S1, by the format',
  'runtime/media/rtmp/server-messages.ts HANDSHAKE': 'of C1 and S1, by the format',
  'runtime/media/rtmp/server-messages.ts LONGEST_HEADER': 'what a chunk header can be at most, by its format',
  'runtime/transcode/command.ts quality': 'how good x264 makes a picture, on its own scale',
};
/** Words of a schema that bound what a client or an operator may send. */
const bounding = ['maxLength', 'maxItems', 'maxProperties', 'maximum'];

it('holds every bound of the program: none stands in the code outside a limits.ts', () => {
  const files = [...new Glob('{core,config,machines,plugins,runtime}/**/*.ts').scanSync(root)]
    .filter((path) => !path.endsWith('/limits.ts'))
    .sort();
  expect(files.length).toBeGreaterThan(100);
  const found = files.flatMap((path) => findBounds(path, readFileSync(`${root}${path}`, 'utf8')));
  expect(found.filter((place) => !Object.hasOwn(noBounds, place))).toEqual([]);
  expect(Object.keys(noBounds).filter((place) => !found.includes(place))).toEqual([]);
});

test.each([
  ['const most = 1000;', ['a.ts most']],
  ['const wait = 24 * 3_600_000;', ['a.ts wait']],
  ['const limits = { group: 256 };', ['a.ts limits.group']],
  ['Type.String({ maxLength: 500 })', ['a.ts maxLength']],
  ['const half = 0.5;', []],
  ['const QUOTE = 0x22;', []],
  ["const table = { 'a.b': { status: 404 } };", []],
  ['function f() { const most = 1000; }', []],
  ['const most = limits.page.value;', []],
])('%s', (text, places) => {
  expect(findBounds('a.ts', text)).toEqual(places);
});

/** `file name` of each number of at least 16 that a module holds, and of each that bounds a schema. */
function findBounds(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const look = (name: string, value: ts.Expression | undefined): void => {
    if (value === undefined) return;
    if ((numberOf(value) ?? 0) >= 16) found.push(`${path} ${name}`);
    if (!ts.isObjectLiteralExpression(value)) return;
    for (const entry of value.properties) {
      if (ts.isPropertyAssignment(entry) && entry.name.getText() !== 'status')
        look(`${name}.${entry.name.getText()}`, entry.initializer);
    }
  };
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations)
      look(name.getText(), initializer);
  }
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && bounding.includes(node.name.getText())) {
      const isPort = node.parent.getText().includes('isNoLimit');
      if (!isPort && numberOf(node.initializer) !== undefined) found.push(`${path} ${node.name.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The value of an expression of numbers alone. */
function numberOf(node: ts.Expression): number | undefined {
  if (ts.isNumericLiteral(node)) return node.getText().startsWith('0x') ? undefined : Number(node.text);
  if (ts.isParenthesizedExpression(node)) return numberOf(node.expression);
  if (!ts.isBinaryExpression(node)) return undefined;
  const [left, right] = [numberOf(node.left), numberOf(node.right)];
  if (left === undefined || right === undefined) return undefined;
  if (node.operatorToken.kind === ts.SyntaxKind.AsteriskToken) return left * right;
  return node.operatorToken.kind === ts.SyntaxKind.PlusToken ? left + right : undefined;
}
