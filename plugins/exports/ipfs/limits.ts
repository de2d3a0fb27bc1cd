import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** Bounds of what is sent to IPFS. Those of packing are the core's. */
export const ipfsLimitTable = limitTable('exports.ipfs', {
  silence: {
    value: 300_000,
    unit: 'ms',
    meaning:
      'How long a pinning service or a Kubo node may take no bytes and say nothing, also when it has the whole file.',
    beyond: 'The try ends, and there is another.',
  },
  documentTime: {
    value: 60_000,
    unit: 'ms',
    meaning: 'Sending a document, or a question, with its answer.',
    beyond: 'The try ends, and there is another.',
  },
  answer: {
    value: 65_536,
    unit: 'bytes',
    meaning: 'What is read of an answer.',
    beyond: 'The export fails: it is no answer that a pinning service or a Kubo node gives.',
  },
  name: {
    value: 200,
    unit: 'characters',
    meaning: 'The name under which something is pinned.',
    beyond: 'It is cut.',
  },
  cid: {
    value: 128,
    unit: 'characters',
    meaning: 'A CID that is answered.',
    beyond: 'It is taken for none.',
  },
  reason: {
    value: 200,
    unit: 'characters',
    meaning: 'What a Kubo node says of a failure.',
    beyond: 'It is cut.',
  },
  retryAfter: {
    value: 15 * 60_000,
    unit: 'ms',
    meaning: 'How long a pinning service may ask us to wait (`Retry-After`).',
    beyond: 'It is asked again then.',
  },
});

export const ipfsLimits = valuesOf(ipfsLimitTable);
