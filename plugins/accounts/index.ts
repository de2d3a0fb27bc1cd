import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Authenticator, authenticator, type Principal } from '../../core/auth.ts';
import { uuid } from '../../core/ids.ts';
import { definePlugin, type Kit } from '../../core/plugin.ts';
import { bootstrapKeyFile } from './key-file.ts';

/** Accounts and API keys. For now one of each: the admin account and the bootstrap key. */
export default definePlugin({
  id: 'accounts',
  summary: 'accounts and API keys',
  provides: [authenticator],
  faults: {
    'auth.missing': { status: 401, meaning: 'The request carries no API key.' },
    'auth.invalid': { status: 401, meaning: 'The API key is unknown or was revoked.' },
  },
  async start(kit) {
    const key =
      kit.deployment.bootstrapKey ??
      (await bootstrapKeyFile(kit.deployment.dataDir, {
        create: () => randomBytes(24).toString('base64url'),
      }));
    const admin: Principal = { accountId: await adminAccount(kit), isAdmin: true, keyName: 'bootstrap' };
    kit.provide(authenticator, oneKey(key, admin));
    return undefined;
  },
});

/** Knows one key, by its hash. */
function oneKey(key: string, principal: Principal): Authenticator {
  const expected = hash(key);
  return {
    async principal(given) {
      return timingSafeEqual(hash(given), expected) ? principal : undefined;
    },
  };
}

function hash(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

async function adminAccount(kit: Kit): Promise<string> {
  const stored = await kit.resources.find('account', 'role', 'admin');
  if (stored) return stored.id;
  const id = uuid();
  const account = { id, name: 'admin', createdAt: kit.clock.now() };
  await kit.resources.write({
    rows: [
      {
        kind: 'account',
        id,
        account: id,
        createdAt: account.createdAt,
        name: account.name,
        body: JSON.stringify(account),
        indexes: { role: 'admin' },
        revision: 0,
      },
    ],
    events: [],
  });
  return id;
}
