import { unlessRefused } from '../../core/base/fault.ts';
import { sealRows } from '../../core/plugin/sealed-rows.ts';
import { services } from '../../core/plugin/services.ts';
import type { WebhooksKit } from './config.ts';
import { type Secret, webhookKind, webhookOf, webhooksOf } from './webhook.ts';

/** How long a replaced secret signs beside the new one. */
const rotation = 24 * 3_600_000;
/** That sign at once; of more, the oldest ends at once. */
const maxSecrets = 4;

/** Those that sign at this time. */
export function validSecrets(secrets: readonly Secret[], now: number): readonly Secret[] {
  return secrets.filter(({ until }) => until === null || until > now);
}

/** The secrets after another was given; null ends them all at once. The current one again changes nothing. */
export function rotated(secrets: readonly Secret[], given: string | null, now: number): readonly Secret[] {
  if (given === null) return [];
  if (secrets[0]?.value === given) return secrets;
  const former = validSecrets(secrets, now)
    .filter(({ value }) => value !== given)
    .map(({ value, until }) => ({ value, until: until ?? now + rotation }));
  return [{ value: given, until: null }, ...former].slice(0, maxSecrets);
}

/** Stored secrets of a webhook as they were given. Those that cannot be opened are left out. */
export function openedSecrets(
  { id, secrets }: { readonly id: string; readonly secrets: readonly Secret[] },
  kit: Pick<WebhooksKit, 'use'>,
): readonly Secret[] {
  const { open } = kit.use(services.secrets);
  return secrets.flatMap(({ value, until }) => {
    const opened = open(value, contextOf(id));
    return opened === undefined ? [] : [{ value: opened, until }];
  });
}

/** Secrets as they are stored with a webhook. */
export function sealedSecrets(
  { id, secrets }: { readonly id: string; readonly secrets: readonly Secret[] },
  kit: Pick<WebhooksKit, 'use'>,
): readonly Secret[] {
  const { seal } = kit.use(services.secrets);
  return secrets.map(({ value, until }) => ({ value: seal(value, contextOf(id)), until }));
}

/** A singleton task: seals what older versions stored. */
export function sealOldSecrets(kit: WebhooksKit): () => Promise<void> {
  return sealRows(webhookKind, {
    kit,
    async seal(row) {
      const { id, account, secrets } = webhookOf(row);
      const { open } = kit.use(services.secrets);
      if (!secrets.some(({ value }) => open(value, contextOf(id)) === value)) return;
      const own = webhooksOf({ accountId: account }, kit);
      const sealed = own.change(id, (before) => ({
        ...before,
        secrets: sealedSecrets({ id, secrets: openedSecrets(before, kit) }, kit),
      }));
      await sealed.catch(unlessRefused);
    },
  });
}

function contextOf(webhookId: string): string {
  return `webhook/${webhookId}/secret`;
}
