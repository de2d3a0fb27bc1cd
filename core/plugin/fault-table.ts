import type { FaultTable } from './plugin.ts';

/** Faults of the core and the runtime; each plugin has a table of its own. */
export const coreFaults: FaultTable = {
  'request.malformed': { status: 400, meaning: 'The Host header and the path do not make a URL.' },
  'body.malformed': {
    status: 400,
    meaning: 'The body is not JSON in UTF-8, not complete, or nested deeper than 32 levels.',
  },
  'body.too_large': { status: 413, meaning: 'The body is larger than 256 KiB.' },
  'body.invalid': { status: 422, meaning: 'A field is missing, unknown or wrong; each is named.' },
  'query.invalid': { status: 422, meaning: 'A query parameter is wrong; it is named.' },
  'idempotency.key_invalid': {
    status: 422,
    meaning: 'Idempotency-Key is not 1 to 255 visible ASCII characters.',
  },
  'idempotency.key_reused': {
    status: 422,
    meaning: 'This Idempotency-Key was used here with another body.',
  },
  'idempotency.running': {
    status: 409,
    meaning: 'The first request with this Idempotency-Key still runs after 10 s.',
  },
  'idempotency.too_many': {
    status: 429,
    meaning: 'This account has used too many Idempotency-Keys within 24 h.',
  },
  'idempotency.shown_once': {
    status: 409,
    meaning:
      'The first request with this Idempotency-Key made the API key that is named; its secret is not kept.',
  },
  'file.changed': {
    status: 412,
    meaning: '`If-Match` or `If-Unmodified-Since` names another version of the file.',
  },
  'file.beyond': {
    status: 416,
    meaning: '`Range` begins behind the end of the file; `Content-Range` tells its size.',
  },
  'file.gone': { status: 404, meaning: 'It was deleted while it was read.' },
  'route.not_found': { status: 404, meaning: 'There is nothing at this path.' },
  'route.method_not_allowed': {
    status: 405,
    meaning: 'This path does not have this method; `Allow` lists those it has.',
  },
  'node.secret_missing': {
    status: 401,
    meaning: 'Below `/internal/` only nodes of the deployment are answered.',
  },
  'node.secret_wrong': { status: 403, meaning: 'The secret of a node (node.secret) is another one here.' },
  'node.no_api': {
    status: 404,
    meaning: 'The node that was asked does not have the role `api`; others of the deployment do.',
  },
  'actor.not_found': { status: 404, meaning: 'It was deleted meanwhile.' },
  'actor.exists': { status: 409, meaning: 'Something of this id exists already.' },
  'actor.not_possible': { status: 409, meaning: 'Not possible in its present state; nothing was changed.' },
  'jobs.full': {
    status: 503,
    meaning: 'Too much work of this kind waits already; nothing was written. Try again.',
  },
  'jobs.input_too_large': { status: 413, meaning: 'The input of a job is larger than 256 KiB as JSON.' },
  'intake.too_large': {
    status: 413,
    meaning: 'The file is larger than may be; the message says how large that is.',
  },
  'intake.beyond': { status: 413, meaning: 'More was sent than the file was said to have.' },
  'intake.broken': { status: 400, meaning: 'The file ended before it was complete. Send it again.' },
  'intake.silent': { status: 408, meaning: 'Nothing came of the file for too long. Send it again.' },
  'intake.slow': {
    status: 408,
    meaning:
      'The file came more slowly than it must (`plugins.assets.leastRate`). What came of a tus upload is kept.',
  },
  'intake.full': {
    status: 507,
    meaning:
      'The disk of this node is nearly full, so no file is taken. Free some space, for example by deleting assets.',
  },
  'intake.unavailable': { status: 503, meaning: 'This node cannot write the file down just now. Try again.' },
  'packing.changed': {
    status: 409,
    meaning: 'The file was replaced or deleted while it was about to be packed for IPFS.',
  },
  'packing.full': { status: 507, meaning: 'This node has no room to pack the file for IPFS.' },
  'packing.unavailable': {
    status: 503,
    meaning: 'This node cannot pack the file for IPFS just now. Try again.',
  },
  'conversion.refused': {
    status: 422,
    meaning:
      'ffmpeg cannot convert the film, or it goes beyond what is converted; the message says what. In a task, and as answer to an upload.',
  },
  'conversion.unavailable': {
    status: 503,
    meaning: 'There is no ffmpeg on this node, or no place for another conversion. Try again.',
  },
  'still.none': {
    status: 404,
    meaning:
      'There is no picture in it, it cannot be decoded, or it is larger than pictures are made of; the message says which.',
  },
  'still.unavailable': {
    status: 503,
    meaning:
      'This server has no ffmpeg, or is about to end, and makes no pictures. One that is installed is found within a minute.',
  },
  'still.busy': { status: 503, meaning: 'Too many pictures are being made. Try again.' },
  'still.failed': { status: 503, meaning: 'The picture took too long, or making it broke. Try again.' },
  'inspection.unavailable': {
    status: 503,
    meaning: 'The file could not be looked into; that says nothing of it. Try again.',
  },
  'store.busy': { status: 503, meaning: 'Too many writes at one time; nothing was written. Try again.' },
  'store.full': { status: 507, meaning: 'The disk or the memory of the store is full; nothing was written.' },
  'store.unreachable': {
    status: 503,
    meaning: 'The engine of the store (redis.url) does not answer; nothing was written. Try again.',
  },
  'store.unknown': { status: 503, meaning: 'The write may or may not have happened. Look before repeating.' },
  'store.behind': {
    status: 503,
    meaning: 'The store is being brought up to date; whether this exists is not known yet. Try again.',
  },
  'store.failed': {
    status: 503,
    meaning: 'The store has stopped; the server ends and must be started again.',
  },
  'volatile.full': {
    status: 503,
    meaning: 'No room for more facts of the moment, such as live figures. Try again.',
  },
  'blobs.unavailable': {
    status: 503,
    meaning: 'The blob store gave no answer, or a part of one. A write may have happened. Try again.',
  },
  'blobs.full': { status: 507, meaning: 'The blob store has no room; nothing was written.' },
  'blobs.denied': {
    status: 503,
    meaning: 'The blob store does not let this server do that; the log names what. Nothing was written.',
  },
  'blobs.busy': { status: 503, meaning: 'Too much is asked of the blob store at one time. Try again.' },
  'blobs.too_large': { status: 413, meaning: 'Larger than the blob store takes; nothing was written.' },
  'blobs.wrong_length': {
    status: 400,
    meaning: 'What was to be stored had another length than it was said to have; nothing was written.',
  },
  'recording.unavailable': {
    status: 503,
    meaning: 'The recorder of this node, or its disk, does not answer. Nothing is lost. Try again.',
  },
  'recording.full': {
    status: 507,
    meaning: 'There is no room on the disk of this node for the recording. Try again when there is.',
  },
  'blobs.closed': { status: 503, meaning: 'The server is about to end. Try again.' },
  'volatile.unavailable': {
    status: 503,
    meaning: 'Redis does not answer, so facts of the moment are not to be had. Try again.',
  },
  'jobs.unavailable': {
    status: 503,
    meaning: 'Redis does not answer, so the queue of jobs is not to be had. Try again.',
  },
  'store.closed': { status: 503, meaning: 'The server is about to end. Try again.' },
  'bus.unknown': {
    status: 503,
    meaning:
      'The command may or may not be carried out yet. Repeat with the same Idempotency-Key, or look first.',
  },
  'bus.full': { status: 503, meaning: 'Too many commands wait for Kafka; this one was not sent. Try again.' },
  'bus.too_large': { status: 413, meaning: 'A command is larger than 2 MiB as JSON; it was not sent.' },
  'bus.closed': { status: 503, meaning: 'The server is about to end; the command was not sent. Try again.' },
  'server.busy': { status: 503, meaning: 'The server has too many requests in hand. Try again.' },
  'server.stopping': { status: 503, meaning: 'The server is about to end. Try again.' },
  'node.unreachable': {
    status: 503,
    meaning: 'Another node knows the answer and cannot be reached. Try again.',
  },
  internal: { status: 500, meaning: 'A mistake of ours; the log has the details.' },
};

/** How an attempt at a job ends, besides what its effect throws: for machines, signals and the log. */
export const jobFaults: FaultTable = {
  'job.failed': { status: 500, meaning: 'The effect threw what is no Fault.' },
  'job.timeout': { status: 504, meaning: 'An attempt took longer than its effect allows.' },
  'job.worker_died': { status: 500, meaning: 'The process of the last attempt ended, or lost its lease.' },
  'job.output_too_large': {
    status: 500,
    meaning: 'What the effect returned is larger than 256 KiB as JSON.',
  },
  'job.output_invalid': { status: 500, meaning: 'What the effect returned is no JSON.' },
  'job.cancelled': { status: 503, meaning: 'Nobody wants the result any more.' },
  'job.lost': { status: 503, meaning: 'The lease has ended; another process may have the job.' },
  'job.stopping': { status: 503, meaning: 'The server is stopping; the job is handed back.' },
};

/** Problems that keep the program from starting; nobody gets them over HTTP. */
export const startFaults: FaultTable = {
  'config.invalid': { status: 500, meaning: 'The config is wrong; every problem is listed. Exit code 78.' },
  'boot.invalid': { status: 500, meaning: 'The enabled plugins do not fit together. Exit code 78.' },
  'boot.slow': { status: 503, meaning: 'A part took longer than 10 s to start or stop.' },
  'node.taken': { status: 503, meaning: 'Another process runs as this node on the same data.' },
  'http.port_in_use': { status: 500, meaning: 'http.port is taken by another program.' },
  'http.cannot_listen': { status: 500, meaning: 'http.host or http.port cannot be listened on.' },
  'rtmp.cannot_listen': {
    status: 500,
    meaning: 'rtmp.host, rtmp.port or rtmp.tlsPort cannot be listened on.',
  },
  'rtmp.port_in_use': { status: 500, meaning: 'rtmp.port is taken by another program.' },
  'store.open': { status: 500, meaning: 'The database in dataDir cannot be opened.' },
  'store.locked': { status: 503, meaning: 'Another process uses this dataDir.' },
  'store.foreign': { status: 500, meaning: 'The database is of another program.' },
  'store.newer': { status: 500, meaning: 'The data was written by a newer Millrace.' },
  'store.partitions': {
    status: 500,
    meaning: 'kafka.partitions differs from what the data was written with. Exit code 78.',
  },
  'store.log': {
    status: 500,
    meaning:
      'The data was filled from another Kafka log than the one that kafka.brokers leads to. Exit code 78.',
  },
  'store.unsafe': {
    status: 500,
    meaning:
      'The Redis of redis.url may lose what it acknowledges: no AOF, eviction, or a weaker redis.fsync. Exit code 78.',
  },
  'store.refused': {
    status: 500,
    meaning:
      'The Redis of redis.url is older than 7.0, does not let us in, or shows a certificate that redis.ca did not sign. Exit code 78.',
  },
  'blobs.folder': {
    status: 500,
    meaning:
      'The folder of blobs cannot be made, written to or synced, or its disk knows no hard links. Exit code 78.',
  },
  'blobs.config': { status: 500, meaning: 'A key of the section s3 is missing or wrong. Exit code 78.' },
  'blobs.unreachable': {
    status: 503,
    meaning: 's3.endpoint does not answer, or answers that it does not work.',
  },
  'blobs.endpoint': { status: 500, meaning: 's3.endpoint answers, but not as S3 does. Exit code 78.' },
  'blobs.credentials': {
    status: 500,
    meaning: 's3.accessKeyId is unknown there, or s3.secretAccessKey is not its secret. Exit code 78.',
  },
  'blobs.clock': {
    status: 500,
    meaning: 'The clock is too wrong for S3 to accept signatures. Exit code 78.',
  },
  'blobs.region': { status: 500, meaning: 's3.bucket is in another region than s3.region. Exit code 78.' },
  'blobs.bucket': {
    status: 500,
    meaning: 's3.bucket is missing and cannot be created, or cannot be used. Exit code 78.',
  },
  'blobs.forbidden': {
    status: 500,
    meaning: 's3.accessKeyId may not list, write or delete in s3.bucket. Exit code 78.',
  },
  'bus.partitions': {
    status: 500,
    meaning: 'kafka.partitions differs from the topics that are there. Exit code 78.',
  },
  'bus.refused': {
    status: 500,
    meaning:
      'Kafka does not let us in (kafka.sasl, kafka.ssl), may not be asked what we need, or has fewer brokers than kafka.replication. Exit code 78.',
  },
  'bus.unreachable': {
    status: 503,
    meaning: 'Kafka does not answer at kafka.brokers, or refuses what we need.',
  },
  'partition.misfit': {
    status: 500,
    meaning:
      'The place where a partition of the command log was left is not on that log: a part is missing, or it is another one. The node does not take the partition, and looks again and again.',
  },
  'accounts.no_key': { status: 500, meaning: 'The file with the bootstrap key is empty.' },
};
