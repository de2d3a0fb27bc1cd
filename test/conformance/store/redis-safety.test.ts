import { describe, expect, it } from 'vitest';
import { checkSafety } from '../../../runtime/drivers/store/redis/safety.ts';

const answers =
  (info: Record<string, string>) =>
  async ([name, , setting]: readonly string[]): Promise<unknown> => {
    if (name !== 'INFO') return [setting, setting === 'appendfsync' ? 'everysec' : 'no'];
    const all = { redis_version: '7.0.15', loading: '0', aof_enabled: '1', ...info };
    return Object.entries(all)
      .map(([key, value]) => `${key}:${value}`)
      .join('\r\n');
  };

describe('whether a Redis keeps what it acknowledges', () => {
  it('is a question of its settings', async () => {
    await checkSafety(answers({}), {});
    await expect(checkSafety(answers({ aof_enabled: '0' }), {})).rejects.toMatchObject({
      ...{ code: 'store.unsafe', status: 500 },
    });
  });

  it('cannot be told while it loads: its log is switched off then, and that passes', async () => {
    const loading = answers({ loading: '1', aof_enabled: '0' });
    const passing = { code: 'store.unreachable', status: 503, retryAfter: 1 };
    await expect(checkSafety(loading, {})).rejects.toMatchObject(passing);
    await expect(checkSafety(loading, { allowLoss: true })).rejects.toMatchObject(passing);
  });
});
