import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';

test.each(['c.json', 'c.yaml'])(
  'an error in %s names the line, and quotes nothing of the file',
  async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'config-'));
    try {
      const path = join(folder, name);
      writeFileSync(path, '{\n  "bootstrapKey": "a-secret-of-many-characters"\n  "http": {"port": 1}\n}');
      const error = await loadConfig({ MILLRACE_CONFIG: path }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      expect(String(error)).toMatch(/c\.\w+: .* at line 3, column 3$/);
      expect(String(error)).not.toContain('a-secret');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
