import type { Kit } from '../../core/plugin/plugin.ts';
import type { AssetTerms } from '../assets/contract.ts';
import { playedFacts } from '../playback/contract.ts';
import { policyField } from './fields.ts';

/**
 * The policy of a recording is that of its stream, that of a transcoded film that of its input: what was private stays private
 * when it becomes something else.
 */
export function inheritedPolicy({ offered }: Pick<Kit, 'offered'>): AssetTerms {
  return async ({ account, source }) => {
    if (source.type !== 'recording' && source.type !== 'transcode') return {};
    const of =
      source.type === 'recording'
        ? ({ kind: 'recording', account, sessionId: source.sessionId } as const)
        : ({ kind: 'asset', account, assetId: source.inputAssetId } as const);
    const facts = await Promise.all(offered(playedFacts).map((find) => find(of)));
    const policy = facts.map((one) => one?.fields[policyField]).find(Boolean);
    return policy ? { [policyField]: policy } : {};
  };
}
