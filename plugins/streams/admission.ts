import { milliseconds } from '../../core/base/config-fields.ts';
import { Fault, hasCode } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { accountLimitsOf } from '../../core/http/account-limits.ts';
import type { PublishQuestion, Refusal } from '../../core/plugin/decide.ts';
import { safeCalls } from '../../core/plugin/safe-calls.ts';
import { services } from '../../core/plugin/services.ts';
import type { PublishGrant, PublishRefusal, PublishRequest } from '../../core/ports/media.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { broadcast, sessionFacts } from './actor.ts';
import type { StreamsKit } from './config.ts';
import { type PublishTerms, publishTerms, stream } from './contract.ts';
import { documentOf, type StreamDocument } from './document.ts';
import { noteRefusal } from './live-figures.ts';
import { mediaFacts } from './media-facts.ts';
import { type RefusalCause, refusedPublishes } from './refused-publishes.ts';

/** Of `plugins.streams.hold`. */
const defaultHold = '30s';

/**
 * Lets encoders publish to this node, and reports to broadcasts what the media saw of them. Returns the stop.
 *
 * @param options `admitted`: called with each publish that may begin
 */
export async function acceptPublishes(
  kit: StreamsKit,
  { admitted }: { admitted(): void },
): Promise<() => Promise<void>> {
  const { report, abandon, settled } = mediaFacts(kit);
  const safely = safeCalls(kit);
  const terms: PublishTerms = (session) =>
    Object.assign(
      {},
      ...kit
        .offered(publishTerms)
        .map((own) => safely(publishTerms.id, { call: () => own(session), otherwise: {} })),
    );
  const note = (
    request: PublishRequest,
    { cause: reason, message }: { cause: RefusalCause; message: string },
  ) => kit.use(refusedPublishes).note(request, { reason, message, at: kit.clock.now() });
  const close = await kit.use(services.media).accept({
    async authorise(request) {
      const answer = await admit(request, { kit, terms, abandoned: abandon });
      if ('granted' in answer) {
        admitted();
        return answer;
      }
      const { cause, message } = answer;
      note(request, answer);
      return { granted: false, reason: reasons[cause], message };
    },
    refused: note,
    report,
  });
  return async () => {
    await close();
    // Each closed connection reports its last media, from which both windows count.
    await settled();
  };
}

/**
 * Decides who may publish: looks up the key, asks the plugins that decide, then the broadcast of the stream. When the store does not answer, the
 * encoder is asked to try again. A publish that may have been admitted all the same is `abandoned`.
 */
async function admit(
  request: PublishRequest,
  {
    kit,
    terms,
    abandoned,
  }: { kit: StreamsKit; terms: PublishTerms; abandoned: ReturnType<typeof mediaFacts>['abandon'] },
): Promise<PublishGrant | Refused> {
  let row: StoredResource | undefined;
  try {
    row = await kit.resources.find('stream', 'streamKey', request.key);
  } catch (error) {
    kit.log.warn('a publish could not be admitted: its key could not be looked up', { error });
    return unavailable;
  }
  if (!row) return unauthorized;
  const document = documentOf(row);
  if (document.suspended) return suspended;
  const refusal = await kit.decide.publish?.(questionOf(request, { document, kit }));
  if (refusal) return refusedBy(refusal, { streamId: row.id, kit });
  const beyond = await beyondLimits(document, kit);
  if (beyond !== undefined) return { cause: 'not_allowed', message: beyond };
  // Streams that push to each other would otherwise take the key from the encoder.
  const busyKey = request.isPush ? 'refuse' : kit.config.busyKey;
  const token = uuid();
  try {
    const { context } = await kit.actors.ask(broadcast, row.id, {
      type: 'publish',
      streamKey: request.key,
      token,
      node: kit.deployment.node.id,
      incarnation: kit.deployment.node.incarnation,
      sessionId: uuid(),
      busyKey,
      // The machine takes the shorter of the two.
      hold: milliseconds(kit.config.hold ?? defaultHold),
      reconnectWindow: milliseconds(kit.config.reconnectWindow),
    });
    if (context.session?.publish?.token !== token) return takenOver;
    const age = kit.clock.now() - context.stream.createdAt;
    const session = sessionFacts(context, kit.resources.fields(stream));
    return {
      ...(await within(session.account, { terms: terms(session), kit })),
      granted: true,
      token,
      account: session.account,
      fields: session.fields,
      streamId: row.id,
      sessionId: context.session.id,
      playbackId: context.stream.playbackId,
      mediaSequence: Math.max(0, Math.floor(age / 250)),
      discontinuitySequence: context.publishCount - 1,
      targetDuration: context.targetDuration,
      isReturn: context.isActive,
    };
  } catch (error) {
    if (error instanceof Fault && error.status === 404) return unauthorized;
    if (error instanceof Fault && error.status === 409) return busyRefusal(request.key, { kit, busyKey });
    abandoned({ streamId: row.id, token });
    kit.log.warn('a publish could not be admitted: its broadcast did not answer', {
      streamId: row.id,
      error,
    });
    return unavailable;
  }
}

/** Why the limits of the account do not allow a broadcast. Limits that cannot be read now do not keep it away. */
async function beyondLimits(document: StreamDocument, kit: StreamsKit): Promise<string | undefined> {
  const { id: streamId, account, fields } = document;
  const isRecorded = kit.resources.fields(stream).present(fields).record === true;
  try {
    return await accountLimitsOf(kit)?.publish({ streamId, account, isRecorded });
  } catch (error) {
    kit.log.warn('the limits of an account could not be read', { account, error });
    return undefined;
  }
}

/**
 * The terms of a publish within the limits of its account: its share of live memory, and no renditions when it has encoded as much as
 * it may. A limit that cannot be read now does not keep a broadcast away.
 */
async function within(
  account: string,
  { terms, kit }: { terms: ReturnType<PublishTerms>; kit: StreamsKit },
): Promise<ReturnType<PublishTerms> & Pick<PublishGrant, 'liveBytes'>> {
  const limits = accountLimitsOf(kit);
  if (!limits) return terms;
  const { profiles, ...others } = terms;
  try {
    const liveBytes = await limits.of(account, 'liveBytes');
    const share = liveBytes === null ? {} : { liveBytes };
    if (profiles === undefined) return { ...others, ...share };
    const mayEncode = await limits.encode(account, 1).then(
      () => true,
      (error: unknown) => {
        if (!hasCode(error, 'account.limit')) throw error;
        kit.log.info('a broadcast has no renditions: its account has encoded as much as it may', { account });
        return false;
      },
    );
    return { ...others, ...share, ...(mayEncode && { profiles }) };
  } catch (error) {
    kit.log.warn('the limits of an account could not be read', { account, error });
    return terms;
  }
}

/** What plugins are asked. Never the key. */
function questionOf(
  { app, address, isPush, encoder }: PublishRequest,
  { document, kit }: { document: StreamDocument; kit: StreamsKit },
): PublishQuestion {
  const { id: streamId, account, name, userTags, fields } = document;
  return {
    ...{ streamId, account, name, userTags, fields: kit.resources.fields(stream).present(fields) },
    ...{ app, address, isPush, ...(encoder !== undefined && { encoder }) },
  };
}

function refusedBy(
  { reason, isFailure, plugin }: Refusal,
  { streamId, kit }: { streamId: string; kit: StreamsKit },
): Refused {
  if (isFailure) return { cause: 'unavailable', message: reason };
  kit.log.info('a plugin refused a broadcast', { streamId, by: plugin, reason });
  return { cause: 'not_allowed', message: reason };
}

/** A refusal, with a cause for people: the codes of RTMP say less. */
interface Refused {
  readonly cause: keyof typeof reasons;
  /** What the encoder is told. */
  readonly message: string;
}

const reasons = {
  unknown_key: 'unauthorized',
  suspended: 'rejected',
  busy: 'rejected',
  not_allowed: 'rejected',
  unavailable: 'unavailable',
} as const satisfies Partial<Record<RefusalCause, PublishRefusal['reason']>>;

const unauthorized: Refused = {
  cause: 'unknown_key',
  message: 'This stream key is unknown. Copy the streamKey of the stream again: it may have been rotated.',
};
const unavailable: Refused = {
  cause: 'unavailable',
  message: 'The server cannot check the stream key at the moment. Try again.',
};
const suspended: Refused = { cause: 'suspended', message: 'This stream is suspended.' };
const takenOver: Refused = { cause: 'busy', message: 'Another broadcast with the same key took over.' };

/** Why the broadcast refused: the key is in use, or since the row was read it was changed or the stream suspended. */
async function busyRefusal(
  key: string,
  { kit, busyKey }: { kit: StreamsKit; busyKey: 'takeover' | 'refuse' },
): Promise<Refused> {
  const row = await kit.resources.find('stream', 'streamKey', key);
  if (!row) return unauthorized;
  const { suspended: isSuspended, brakedUntil = 0 } = documentOf(row);
  if (isSuspended) return suspended;
  if (kit.config.busyKey === 'refuse') noteRefusal(row.id, kit);
  const wait = Math.ceil((brakedUntil - kit.clock.now()) / 1000);
  const again = wait > 0 && busyKey === 'takeover' ? ` Try again in ${wait} s.` : '';
  return { cause: 'busy', message: `Another broadcast uses this stream key.${again}` };
}
