import type { CidProfile } from '../../core/ports/packer.ts';

/**
 * What Kubo 0.42.0 said of these bytes: `ipfs add --cid-version=1 --raw-leaves=true --chunker=size-1048576 --max-file-links=1024`,
 * and `--cid-version=0 --raw-leaves=false --chunker=size-262144 --max-file-links=174`.
 */
export const cidTable: readonly {
  readonly size: number;
  readonly cids: Readonly<Record<CidProfile, string>>;
}[] = [
  row(0, {
    v1: 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku',
    v0: 'QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH',
  }),
  row(1, {
    v1: 'bafkreidogqfzz75tpkmjzjke425xqcrmpcib2p5tg44hnbirumdbpl5adu',
    v0: 'QmS9JArPwa55ePgDnyg6TzX24mYTS1b1vLqWNebyVotKxQ',
  }),
  row(1_048_576, {
    v1: 'bafkreifd6cdnwm6y2izhtuhyqdbgptjshwyvso4wbir3g6j7e3hpx5iffa',
    v0: 'QmUf9QwiqaychTtp55epZCLk9nDj1dE57tNgEgbmETdoij',
  }),
  row(1_048_577, {
    v1: 'bafybeignt2ocbtaf4vzdhsjbgfr34rczj2jwn5rqguyimrgixajgffjrfa',
    v0: 'QmQuBr2V6oNjTQQPZ1wsG1kHWjTqyqgMfknwzxJWUm6Kz6',
  }),
  row(10_485_761, {
    v1: 'bafybeiclaousglfk23tbjel4dywkrknkvy66fyf77wqgeam7lfjous65u4',
    v0: 'QmWHdTcPu44ZJH4G6rixhEQtXFQkS1d8BrsMjsq1uqgkjA',
  }),
  // Two levels of nodes by the older profile.
  row(52_428_800, {
    v1: 'bafybeifmvq66qvmqtwah5mnvc5h6r7vin2rtyym2yatiisjgw2fmjzecuu',
    v0: 'QmTHtpzk2mDZLUpMubnxhDf44LXkVDMHqVTEWJsHsdSKbe',
  }),
];

/** The bytes of the table: byte `i` is `i·31 + ⌊i/2⁸⌋·17 + ⌊i/2¹⁶⌋·7`, of which the lowest 8 bits. */
export function tableBytes(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i += 1) bytes[i] = i * 31 + (i >> 8) * 17 + (i >> 16) * 7;
  return bytes;
}

function row(size: number, { v1, v0 }: { v1: string; v0: string }) {
  return { size, cids: { 'unixfs-v1-2025': v1, 'unixfs-v0-2015': v0 } };
}
