import { readFileSync } from 'node:fs';
import { Glob } from 'bun';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;
const starts =
  /\bBun\.(spawn|spawnSync|\$)|['"](node:)?child_process['"]|['"]node:cluster['"]|\{[^}]*(\bspawn\b|\$)[^}]*\} from 'bun'/;

test('only runtime/media/ffmpeg/process.ts starts processes: there each has bounds, and is ended', () => {
  const found = [...new Glob('{core,machines,config,plugins,runtime}/**/*.ts').scanSync(root)].filter(
    (path) => starts.test(readFileSync(`${root}${path}`, 'utf8')),
  );
  expect(found).toEqual(['runtime/media/ffmpeg/process.ts']);
});

test.each([
  "Bun.spawn(['ls'])",
  "import { exec } from 'node:child_process'",
  "await import('child_process')",
  "import { spawn } from 'bun'",
  "import { $ } from 'bun'",
])('%s is seen', (line) => expect(starts.test(line)).toBe(true));
test.each(["actors.spawn(type, 'a')", "import { dns } from 'bun'"])('%s is fine', (line) =>
  expect(starts.test(line)).toBe(false),
);
