import { collection } from '../../core/plugin/token.ts';
import type { Policy } from './policy.ts';

export { type Policy, policyProblems, shownPolicy } from './policy.ts';

/** The policy of the deployment. Offered by the plugin whose config has it. */
export const deploymentPolicy = collection<Policy>('protection.deployment-policy');
