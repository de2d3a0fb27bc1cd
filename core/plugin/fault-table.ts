import { Fault } from '../base/fault.ts';
import type { FaultTable } from './plugin.ts';

/** Faults of the core and the runtime; each plugin has a table of its own. */
export const coreFaults: FaultTable = {
  ...faultsOf(400, {
    'request.malformed': 'The Host header and the path do not make a URL.',
    'body.malformed': 'The body is not complete JSON in UTF-8, or is nested deeper than 32 levels.',
    'blobs.wrong_length': 'The data has another length than announced. Nothing was written.',
    'intake.broken': 'The file ended before it was complete. Send it again.',
  }),
  ...faultsOf(401, { 'node.secret_missing': 'Paths below `/internal/` are for nodes of the deployment.' }),
  ...faultsOf(403, {
    'playback.refused': 'A plugin of this server does not let this viewer play it.',
    'node.secret_wrong': 'The node secret (node.secret) differs from the one of this node.',
  }),
  ...faultsOf(404, {
    'route.not_found': 'There is no route at this path.',
    'file.gone': 'The file was deleted while it was read.',
    'node.no_api': 'This node does not have the role `api`. Ask another node.',
    'actor.not_found': 'The object was deleted in the meantime.',
    'still.none': 'There is no picture, or it cannot be decoded or is too large; the message says which.',
  }),
  ...faultsOf(405, { 'route.method_not_allowed': 'The path does not support this method; see `Allow`.' }),
  ...faultsOf(408, {
    'intake.silent': 'No data of the file arrived for too long. Send it again.',
    'intake.slow':
      'The file arrived more slowly than `plugins.assets.leastRate`. A tus upload can be resumed.',
  }),
  ...faultsOf(409, {
    'idempotency.running': 'The first request with this Idempotency-Key is still running after 10 s.',
    'idempotency.shown_once':
      'The first request with this Idempotency-Key created the named API key; its secret is not stored.',
    'account.limit':
      'The account has or uses as much as it may; the message names the limit, the use and the bound.',
    'actor.exists': 'An object with this id exists already.',
    'actor.not_possible': 'Not possible in the present state. Nothing was changed.',
    'packing.changed': 'The file was replaced or deleted before it was packed for IPFS.',
  }),
  ...faultsOf(412, {
    'file.changed': '`If-Match` or `If-Unmodified-Since` names another version of the file.',
  }),
  ...faultsOf(413, {
    'body.too_large': 'The body is larger than 256 KiB.',
    'jobs.input_too_large': 'The input of a job is larger than 256 KiB as JSON.',
    'intake.too_large': 'The file is too large; the message names the limit.',
    'intake.beyond': 'More data was sent than the announced length.',
    'blobs.too_large': 'Larger than the blob store accepts. Nothing was written.',
    'events.payload_too_large': 'The payload of an event of a plugin is larger than 64 KiB as JSON.',
    'bus.too_large': 'A command is larger than 2 MiB as JSON. It was not sent.',
  }),
  ...faultsOf(416, {
    'file.beyond': '`Range` begins after the end of the file; see `Content-Range` for its size.',
  }),
  ...faultsOf(422, {
    'body.invalid': 'A field is missing, unknown or wrong; each is named.',
    'query.invalid': 'A query parameter is wrong; it is named.',
    'idempotency.key_invalid': 'Idempotency-Key is not 1 to 255 visible ASCII characters.',
    'idempotency.key_reused': 'This Idempotency-Key was used with another body.',
    'conversion.refused':
      'ffmpeg cannot convert the film, or it exceeds a limit; the message says why. In tasks and answers to uploads.',
  }),
  ...faultsOf(429, {
    'idempotency.too_many': 'The account used too many Idempotency-Keys within 24 h.',
    'rate.limited':
      'Too many requests with this API key, or from this address without one. Repeat it after `Retry-After`.',
  }),
  ...faultsOf(500, { internal: 'An internal error; the log has the details.' }),
  ...faultsOf(503, {
    'server.busy': 'Too many concurrent requests. Try again.',
    'server.stopping': 'The server is stopping. Try again.',
    'decision.unavailable': 'A plugin that must decide whether this is allowed fails to do so. Try again.',
    'node.unreachable': 'The node that has the answer cannot be reached. Try again.',
    'events.flooded': 'Too many events of a plugin wait to be written. Nothing was written. Try again.',
    'plugin.failed':
      'The plugin that answers this could not be started, so it is off; the log of the server says why.',
    'jobs.full': 'Too many jobs of this kind are waiting. Nothing was written. Try again.',
    'intake.unavailable': 'This node cannot store the file at the moment. Try again.',
    'packing.unavailable': 'This node cannot pack the file for IPFS at the moment. Try again.',
    'conversion.unavailable': 'This node has no ffmpeg, or no free slot for a conversion. Try again.',
    'inspection.unavailable': 'The file could not be inspected; it may be fine. Try again.',
    'still.unavailable': 'This node has no ffmpeg or is stopping. A new ffmpeg is found within a minute.',
    'still.busy': 'Too many pictures are being made. Try again.',
    'still.failed': 'The picture took too long or failed. Try again.',
    'recording.unavailable':
      'The recorder of this node, or its disk, does not answer. No data is lost. Try again.',
    'store.busy': 'Too many concurrent writes. Nothing was written. Try again.',
    'store.unreachable': 'The store (redis.url) does not answer. Nothing was written. Try again.',
    'store.unknown': 'The write may or may not have happened. Check before repeating it.',
    'store.behind': 'The store is catching up, so it is not known whether this exists. Try again.',
    'store.failed': 'The store has failed. The server ends and must be restarted.',
    'store.closed': 'The server is stopping. Try again.',
    'volatile.full': 'No room for more volatile facts, such as live figures. Try again.',
    'volatile.unavailable': 'Redis does not answer, so volatile facts cannot be read. Try again.',
    'blobs.unavailable': 'The blob store did not answer completely. A write may have happened. Try again.',
    'blobs.denied': 'The blob store denies this to the server; the log has the details. Nothing was written.',
    'blobs.busy': 'Too many concurrent requests to the blob store. Try again.',
    'blobs.closed': 'The server is stopping. Try again.',
    'bus.unknown':
      'The command may or may not be carried out. Repeat it with the same Idempotency-Key, or check first.',
    'bus.full': 'Too many commands wait for Kafka. This one was not sent. Try again.',
    'bus.closed': 'The server is stopping. The command was not sent. Try again.',
  }),
  ...faultsOf(507, {
    'intake.full': 'The disk of this node is nearly full. Free some space, for example by deleting assets.',
    'packing.full': 'This node has no disk space to pack the file for IPFS.',
    'store.full': 'The disk or the memory of the store is full. Nothing was written.',
    'blobs.full': 'The blob store is full. Nothing was written.',
    'recording.full': 'The disk of this node is too full for the recording. Free some space.',
  }),
};

/** How an attempt at a job ends, besides what its effect throws: for machines, signals and the log. */
export const jobFaults: FaultTable = {
  ...faultsOf(500, {
    'job.failed': 'The effect threw something that is not a Fault.',
    'job.worker_died': 'The process of the last attempt ended or lost its lease.',
    'job.output_too_large': 'The output of the effect is larger than 256 KiB as JSON.',
    'job.output_invalid': 'The output of the effect is not JSON.',
  }),
  ...faultsOf(503, {
    'job.cancelled': 'The result is not needed any more.',
    'job.lost': 'The lease has ended; another process may have the job.',
    'job.stopping': 'The server is stopping; the job goes back to the queue.',
  }),
  ...faultsOf(504, { 'job.timeout': 'An attempt took longer than its effect allows.' }),
};

/** Problems that keep the program from starting; nobody gets them over HTTP. Those of the config end it with exit code 78. */
export const startFaults: FaultTable = {
  ...faultsOf(500, {
    'config.invalid': 'The config is wrong; every problem is listed.',
    'boot.invalid': 'The enabled plugins do not fit together.',
    'http.port_in_use': 'Another program uses http.port.',
    'http.cannot_listen': 'Cannot listen on http.host and http.port.',
    'rtmp.port_in_use': 'Another program uses rtmp.port.',
    'rtmp.cannot_listen': 'Cannot listen on rtmp.host, rtmp.port or rtmp.tlsPort.',
    'store.open': 'The database in dataDir cannot be opened.',
    'store.foreign': 'The database belongs to another program.',
    'store.newer': 'The data was written by a newer Millrace.',
    'store.older': 'The data in Redis is of Millrace 0.1. Stop all nodes and run `npm run migrate` once.',
    'store.partitions': 'kafka.partitions differs from the partitions of the data.',
    'store.log': 'The data belongs to another Kafka log than the one of kafka.brokers.',
    'store.unsafe':
      'Redis may lose acknowledged writes: no AOF, eviction, or a weaker fsync than redis.fsync.',
    'store.refused':
      'Redis is older than 7.0, denies access, or has a certificate that redis.tls.ca did not sign.',
    'secrets.key': 'secretsKey, or secrets.key in dataDir, is not the key of the data, or is missing.',
    'blobs.folder': 'The folder of blobs cannot be written, or its disk has no hard links.',
    'blobs.config': 'A key of the section s3 is missing or wrong.',
    'blobs.endpoint': 's3.endpoint answers, but not as S3 does.',
    'blobs.credentials': 's3.accessKeyId is unknown, or s3.secretAccessKey is wrong.',
    'blobs.clock': 'The clock of this machine is too wrong for S3 signatures.',
    'blobs.region': 's3.bucket is in another region than s3.region.',
    'blobs.bucket': 's3.bucket is missing and cannot be created, or cannot be used.',
    'blobs.forbidden': 's3.accessKeyId may not list, write or delete in s3.bucket.',
    'bus.partitions': 'kafka.partitions differs from the existing topics.',
    'bus.refused':
      'Kafka denies access (kafka.sasl, kafka.ssl), or has fewer brokers than kafka.replication.',
    'partition.misfit':
      'The stored offset of a partition is not on the command log. The node does not take the partition, and tries again.',
    'accounts.no_key': 'The file with the bootstrap key is empty.',
  }),
  ...faultsOf(503, {
    'boot.slow': 'A part took longer than 10 s to start or stop.',
    'node.taken': 'Another process runs as this node on the same data.',
    'store.locked': 'Another process uses this dataDir.',
    'blobs.unreachable': 's3.endpoint does not answer, or reports that it does not work.',
    'bus.unreachable': 'Kafka does not answer at kafka.brokers, or denies what the server needs.',
  }),
};

/** Rows of a table that are answered with one status. */
export function faultsOf<C extends string>(
  status: number,
  meanings: Readonly<Record<C, string>>,
): Readonly<Record<C, FaultTable[string]>> {
  const entries = Object.entries<string>(meanings).map(([code, meaning]) => [code, { status, meaning }]);
  return Object.fromEntries(entries);
}

/** Makes the Faults of a table, which says their status. */
export function faultMaker<C extends string>(table: Readonly<Record<C, FaultTable[string]>>) {
  return (code: C, message: string, options: { retryAfter?: number; retry?: boolean } = {}) =>
    new Fault(code, { status: table[code].status, message, ...options });
}
