import { Fault } from '../../core/base/fault.ts';
import { derivedId } from '../../core/base/ids.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';

/** Stored rows: one for each address of an account that a policy asks. */
const kind = 'playback-secret';
/** Of one account. */
const maxSecrets = 1000;

type SecretsKit = Pick<Kit, 'resources' | 'clock' | 'use'>;

/** The secret that requests to an address are signed with, if the account has set one. */
export async function webhookSecret(
  { account, url }: { account: string; url: string },
  { resources, use }: SecretsKit,
): Promise<string | undefined> {
  const id = rowId(account, url);
  const row = await resources.get(kind, id);
  return row && use(services.secrets).open((JSON.parse(row.body) as { secret: string }).secret, place(id));
}

/** Fault `playback.too_many_secrets` (409). */
export async function storeWebhookSecret(
  { account, url, secret }: { account: string; url: string; secret: string },
  { resources, clock, use }: SecretsKit,
): Promise<void> {
  const id = rowId(account, url);
  const body = JSON.stringify({ secret: use(services.secrets).seal(secret, place(id)) });
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const row = await resources.get(kind, id);
    if (!row && (await resources.count(kind, { account })) >= maxSecrets) {
      const message = `webhookSecret: this account has secrets for ${maxSecrets} addresses.`;
      throw new Fault('playback.too_many_secrets', { status: 409, message });
    }
    const place = { kind, id, account, name: '', indexes: {}, body };
    const { createdAt = clock.now(), revision = 0 } = row ?? {};
    if ((await resources.write({ rows: [{ ...place, createdAt, revision }], events: [] })) === 'ok') return;
  }
  throw new Fault('server.busy', { status: 503, message: 'Others change this secret.', retryAfter: 1 });
}

const attempts = 5;

function rowId(account: string, url: string): string {
  return derivedId(`playback webhook ${account} ${url}`);
}

function place(id: string): string {
  return `${kind}/${id}`;
}
