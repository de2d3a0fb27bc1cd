import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, temporaryFolder } from './children.ts';

/** A config with so many plugins that subscribe to everything of every broadcast: path of its file. */
export function subscribingConfig(count: number): string {
  const { path } = temporaryFolder();
  const files = Array.from({ length: count }, (_, number) => {
    const file = join(path, `plugin-${number}.ts`);
    writeFileSync(file, source(`subscriber-${number}`));
    return file;
  });
  const config = join(path, 'config.json');
  writeFileSync(config, JSON.stringify({ plugins: Object.fromEntries(files.map((file) => [file, true])) }));
  return config;
}

/** It looks at each thing, and does no work of its own: not even at the bytes of samples, which it would have to copy. */
const source = (id: string) => `
import { definePlugin } from '${join(root, 'sdk/plugin.ts')}';
let bytesSeen = 0;
export default definePlugin({
  id: '${id}',
  summary: 'subscribes to everything',
  contract: 3,
  media: () => ({
    begin(init) { bytesSeen += init.bytes.length; },
    part(bytes, part) { if (part.duration > 0) bytesSeen += bytes.length; },
    configure(config) { bytesSeen += config.bytes.length; },
    sample(sample) { if (sample.time >= 0) bytesSeen += sample.size; },
    end() {},
  }),
});
`;
