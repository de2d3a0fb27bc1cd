import { Fault } from '../../core/base/fault.ts';
import type { Outbound } from '../../core/ports/outbound.ts';
import { methodOf } from './asked.ts';
import type { ExportBody } from './body.ts';
import { exportLimits } from './limits.ts';

/** What no schema can say of the body. Throws `body.invalid` (422) with every problem, each by its field. */
export function checkExport(body: ExportBody, { outbound }: { outbound: Pick<Outbound, 'problem'> }): void {
  const { ipfs, custom } = body;
  const problems = [
    ...choiceProblems(body),
    ...(ipfs ? ipfsProblems(ipfs) : []),
    ...(custom ? customProblems(custom, outbound) : []),
  ];
  if (problems.length > 0) throw new Fault('body.invalid', { status: 422, message: problems });
}

function choiceProblems({ ipfs, custom }: ExportBody): string[] {
  if (ipfs && custom) return ['ipfs, custom: expected exactly one of them; both are there'];
  return ipfs || custom ? [] : ['ipfs, custom: expected exactly one of them; neither is there'];
}

function ipfsProblems({ pinning, erc1155Metadata, nftMetadata }: Ipfs): string[] {
  const problems = pinning ? pinningProblems(pinning) : [];
  if (erc1155Metadata && nftMetadata)
    problems.push('ipfs.nftMetadata: is the older name of ipfs.erc1155Metadata; expected one of both');
  for (const [name, document] of Object.entries({ erc1155Metadata, nftMetadata })) {
    const problem = document && metadataProblem(document);
    if (problem) problems.push(`ipfs.${name}: ${problem}`);
  }
  return problems;
}

function pinningProblems({ jwt, apiKey, apiSecret }: NonNullable<Ipfs['pinning']>): string[] {
  if (jwt !== undefined) {
    const isBoth = apiKey !== undefined || apiSecret !== undefined;
    return isBoth ? ['ipfs.pinning: expected either jwt, or apiKey and apiSecret; both are there'] : [];
  }
  if (apiKey === undefined && apiSecret === undefined)
    return ['ipfs.pinning: expected either jwt, or apiKey and apiSecret; neither is there'];
  if (apiSecret === undefined) return ['ipfs.pinning.apiSecret: is required beside apiKey'];
  return apiKey === undefined ? ['ipfs.pinning.apiKey: is required beside apiSecret'] : [];
}

function metadataProblem(document: object): string | undefined {
  const { metadataBytes, metadataDepth } = exportLimits;
  if (Buffer.byteLength(JSON.stringify(document)) > metadataBytes)
    return `expected at most ${metadataBytes} bytes of JSON`;
  if (depthOf(document) > metadataDepth) return `expected at most ${metadataDepth} levels`;
  return hasPrototype(document) ? 'no key may be __proto__' : undefined;
}

function customProblems(custom: Custom, outbound: Checker): string[] {
  const { url, headers = {} } = custom;
  const entries = Object.entries(headers);
  const { headers: most, headerBytes } = exportLimits;
  if (entries.length > most) return [`custom.headers: expected at most ${most} headers`];
  const bytes = entries.reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value), 0);
  if (bytes > headerBytes)
    return [`custom.headers: expected at most ${headerBytes} bytes of names and values`];
  const request = { method: methodOf(custom) };
  const wrong = outbound.problem(url, request);
  if (wrong) return [`custom.url: ${wrong.message}`];
  // One by one, so that each that is wrong is named.
  const problems = entries.flatMap(([name, value]) => {
    const problem = outbound.problem(url, { ...request, headers: { [name]: value } });
    return problem ? [`custom.headers.${shown(name)}: ${problem.message}`] : [];
  });
  if (problems.length > 0) return problems;
  const all = outbound.problem(url, { ...request, headers });
  return all ? [`custom.headers: ${all.message}`] : [];
}

/** A name that is none may be anything. */
function shown(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : JSON.stringify(name.slice(0, 64));
}

function depthOf(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  return 1 + Object.values(value).reduce((most: number, one) => Math.max(most, depthOf(one)), 0);
}

function hasPrototype(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototype);
}

type Ipfs = NonNullable<ExportBody['ipfs']>;
type Custom = NonNullable<ExportBody['custom']>;
type Checker = Pick<Outbound, 'problem'>;
