import { limitTable } from './limit-table.ts';

/** What one request to the API may be. */
export const requestLimits = limitTable('http', {
  chunksInTurn: {
    value: 4096,
    unit: 'chunks',
    meaning: 'Chunks of a JSON body that are read one behind the other.',
    beyond: 'Other requests have their turn first.',
  },
  jsonDepth: {
    value: 32,
    unit: 'levels',
    meaning: 'Nesting of a JSON request body.',
    beyond: '400 `body.malformed`, before it is parsed.',
  },
  bodyProblems: {
    value: 20,
    unit: 'problems',
    meaning: 'Fields that one 422 answer names.',
    beyond: 'Further problems are named when those are mended.',
  },
  nameLength: {
    value: 500,
    unit: 'characters',
    meaning: 'A name of anything: stream, account, API key, target, profile.',
    beyond: '422 `body.invalid`.',
  },
  proxies: {
    value: 16,
    unit: 'proxies',
    meaning: 'Trusted proxies one behind the other, by `X-Forwarded-For`.',
    beyond: 'The last of them counts as the caller.',
  },
  idLength: {
    value: 100,
    unit: 'characters',
    meaning: 'An id in a body.',
    beyond: '422 `body.invalid`.',
  },
  fileName: {
    value: 200,
    unit: 'bytes',
    meaning: 'The name that a file is saved as, in UTF-8, without its ending.',
    beyond: 'It is cut off.',
  },
  causeWindow: {
    value: 10_000,
    unit: 'ms',
    meaning:
      'Time in which the log tells once why requests could not be answered, for each code of the answer.',
    beyond: 'The next line says how many went without one (`unsaid`).',
  },
  causeLength: {
    value: 1000,
    unit: 'characters',
    meaning: 'What such a line says of the cause.',
    beyond: 'It is cut off.',
  },
  fileAge: {
    value: 3600,
    unit: 's',
    meaning: 'How long caches may answer with a file without asking.',
    beyond: 'They ask, and are told that it is the same.',
  },
});

/** `userTags` of streams and assets. */
export const tagLimits = limitTable('tags', {
  tags: {
    value: 50,
    unit: 'tags',
    meaning: '`userTags` of one stream or asset.',
    beyond: '422 `body.invalid`.',
  },
  nameLength: {
    value: 100,
    unit: 'characters',
    meaning: 'The name of a user tag.',
    beyond: '422 `body.invalid`.',
  },
  length: {
    value: 500,
    unit: 'characters',
    meaning: 'The value of a user tag that is text.',
    beyond: '422 `body.invalid`.',
  },
});

/** What a list request may ask for. */
export const listLimits = limitTable('lists', {
  page: {
    value: 1000,
    unit: 'rows',
    meaning: '`limit` of a list; 20 when it is not given.',
    beyond: '422 `query.invalid`.',
  },
  filters: {
    value: 20,
    unit: 'filters',
    meaning: 'Filters of one list request.',
    beyond: '422 `query.invalid`.',
  },
  cursorLength: {
    value: 8192,
    unit: 'characters',
    meaning: 'A cursor. The longest that is given out has a name of 500 characters in it.',
    beyond: '422 `query.invalid`, unread.',
  },
  likeNameLength: {
    value: 500,
    unit: 'characters',
    meaning: '`name` of a list: no name is longer.',
    beyond: '422 `query.invalid`.',
  },
});

/** `Idempotency-Key`. */
export const idempotencyLimits = limitTable('idempotency', {
  keyLength: {
    value: 255,
    unit: 'characters',
    meaning: 'An `Idempotency-Key`.',
    beyond: '422 `idempotency.key_invalid`.',
  },
  lifetime: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long an answer is remembered, from the moment its request began.',
    beyond: 'The key counts as new.',
  },
  patience: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long a repeat waits for the request that is still running.',
    beyond: '409 `idempotency.running`.',
  },
  poll: {
    value: 250,
    unit: 'ms',
    meaning: 'How often a node looks whether a request that another node runs has been answered.',
    beyond: 'The repeat is answered that much later at most.',
  },
  recordsPerAccount: {
    value: 1_000_000,
    unit: 'records',
    meaning: 'Answers remembered for one account.',
    beyond: '429 `idempotency.too_many`, until older ones are forgotten; requests without the header go on.',
  },
  sweepBatch: {
    value: 200,
    unit: 'records',
    meaning: 'Expired records removed in one write.',
    beyond: 'The next write removes the rest.',
  },
});

/** What is told of a bad config. */
export const configLimits = limitTable('config', {
  nodeIdLength: {
    value: 100,
    unit: 'characters',
    meaning: '`node.id`.',
    beyond: 'The start is refused.',
  },
  brokers: {
    value: 100,
    unit: 'brokers',
    meaning: '`kafka.brokers`.',
    beyond: 'The start is refused.',
  },
  trustedProxies: {
    value: 1000,
    unit: 'blocks',
    meaning: '`http.trustedProxies`.',
    beyond: 'The start is refused.',
  },
  encoderThreads: {
    value: 64,
    unit: 'threads',
    meaning: '`renditions.threads`.',
    beyond: 'The start is refused.',
  },
  niceness: {
    value: 19,
    unit: 'steps',
    meaning: '`renditions.niceness`: systems know no more.',
    beyond: 'The start is refused.',
  },
  messageSize: {
    value: 16,
    unit: 'MiB',
    meaning: '`rtmp.messageSize`: a length has 24 bits.',
    beyond: 'The start is refused.',
  },
  outboundAllow: {
    value: 1000,
    unit: 'blocks',
    meaning: '`outbound.allow`.',
    beyond: 'The start is refused.',
  },
  problems: {
    value: 100,
    unit: 'problems',
    meaning: 'Problems of one section that a refused start lists.',
    beyond: 'Further ones are listed when those are mended.',
  },
});

/** How long browsers remember what a preflight allowed. */
export const corsLimits = limitTable('cors', {
  apiMaxAge: {
    value: 600,
    unit: 's',
    meaning: 'How long a browser may keep a preflight answer of the API.',
    beyond: 'It asks again: a key that was deleted stops being usable from pages.',
  },
  publicMaxAge: {
    value: 86_400,
    unit: 's',
    meaning: 'The same for playback and ingest discovery, which are open to all.',
    beyond: 'It asks again.',
  },
});

/** Counting what an account has. */
export const quotaLimits = limitTable('quotas', {
  recountInterval: {
    value: 60_000,
    unit: 'ms',
    meaning: 'Shortest time between two counts of an account that seems to have all it may have.',
    beyond: 'It is counted anew at its next attempt: until then what was deleted elsewhere still counts.',
  },
});

/** Facts of seconds that every node can read, whatever driver keeps them. */
export const volatileLimitTable = limitTable('volatile', {
  keyLength: {
    value: 200,
    unit: 'characters',
    meaning: 'A key.',
    beyond: 'A mistake of ours: nothing is set, and the log names it.',
  },
  valueLength: {
    value: 16_384,
    unit: 'characters',
    meaning: 'A value as JSON.',
    beyond: 'A mistake of ours: nothing is set, and the log names it.',
  },
  listed: {
    value: 10_000,
    unit: 'entries',
    meaning: 'Entries of one call.',
    beyond: 'A mistake of ours: nothing is set, and the log names it.',
  },
  longest: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long a value may last.',
    beyond: 'A mistake of ours: nothing is set, and the log names it.',
  },
});

/** What crosses between nodes, whatever driver carries it. */
export const busLimitTable = limitTable('bus', {
  keyLength: {
    value: 500,
    unit: 'characters',
    meaning: 'A key: the id of an actor, or what events are ordered by.',
    beyond: 'A mistake of ours: nothing is sent, and the log names it.',
  },
  valueBytes: {
    value: 2 * 1_048_576,
    unit: 'bytes',
    meaning: 'A command, an answer or an event as JSON in UTF-8: a request body and what we put around it.',
    beyond: '413 `bus.too_large`; nothing is sent.',
  },
  published: {
    value: 1000,
    unit: 'records',
    meaning: 'Events of one call.',
    beyond: 'A mistake of ours: nothing is sent, and the log names it.',
  },
});

/** Blobs, whatever driver keeps them. */
export const blobLimitTable = limitTable('blobs', {
  keyLength: {
    value: 256,
    unit: 'characters',
    meaning: 'A key.',
    beyond: 'A mistake of ours: nothing is done, and the log names it.',
  },
  segmentLength: {
    value: 100,
    unit: 'characters',
    meaning: 'What lies between two slashes of a key.',
    beyond: 'A mistake of ours: nothing is done, and the log names it.',
  },
  segments: {
    value: 8,
    unit: 'parts',
    meaning: 'Folders of a key and its name.',
    beyond: 'A mistake of ours: nothing is done, and the log names it.',
  },
  placeLength: {
    value: 1024,
    unit: 'characters',
    meaning:
      'Where a page of a list begins: the longest key that S3 has, for a page may end at a file of somebody else.',
    beyond: 'A mistake of ours: nothing is done, and the log names it.',
  },
  listed: {
    value: 1000,
    unit: 'keys',
    meaning: 'Blobs on one page of a list, and keys deleted in one call.',
    beyond: 'A mistake of ours: nothing is done, and the log names it.',
  },
  parts: {
    value: 10_000,
    unit: 'parts',
    meaning: 'Parts of one upload: as many as S3 takes.',
    beyond: '413 `blobs.too_large`.',
  },
  partLeast: {
    value: 5 * 1_048_576,
    unit: 'bytes',
    meaning: 'Least size of all parts but the last: that of S3.',
    beyond: 'A mistake of ours: nothing is done, and the log names it.',
  },
  partMost: {
    value: 256 * 1_048_576,
    unit: 'bytes',
    meaning: 'Largest part. It lies in memory while it is sent.',
    beyond: 'A mistake of ours: nothing is done, and the log names it.',
  },
  missingShown: {
    value: 100,
    unit: 'parts',
    meaning: 'Missing parts that are named when an upload cannot be completed yet.',
    beyond: 'Further ones are named when those are there.',
  },
});

/** What is converted at all, of assets and of files that come in. */
export const conversionLimitTable = limitTable('conversion', {
  pixels: {
    value: 8192 * 4352,
    unit: 'pixels',
    meaning: 'One picture of a film that is converted: 8K, as it comes out of cameras.',
    beyond: '422 `transcode.refused`, or `conversion.refused`; ffmpeg decodes no such picture.',
  },
  frameRate: {
    value: 250,
    unit: 'pictures a second',
    meaning: 'A film that is converted, on average; one that is asked for too.',
    beyond: '422 `transcode.refused`, or `conversion.refused`.',
  },
  shorter: {
    value: 2,
    unit: 's',
    meaning:
      'How much shorter a film may come out than its source is, or says that it is (Matroska, FLV, AVI, mp4); or `shorterShare` of that.',
    beyond: '`conversion.refused`: not all of it could be read.',
  },
  shorterShare: {
    value: 0.02,
    unit: 'of the film',
    meaning: 'The same of long ones.',
    beyond: 'The same.',
  },
});

/** What profiles may ask for, of streams and of transcodes. */
export const profileLimits = limitTable('profiles', {
  interval: {
    value: 10,
    unit: 's',
    meaning: 'From one picture of a profile to the next: `fpsDen / fps`.',
    beyond:
      '400 `renditions.invalid` for a stream, 422 `body.invalid` for a transcode; in the config, the start is refused.',
  },
});
