import { deliveryChecks } from './delivery-checks.ts';
import { groupChecks } from './group-checks.ts';
import { messageChecks } from './message-checks.ts';

/** What every driver of the port must do. */
export const busChecks = [...deliveryChecks, ...groupChecks, ...messageChecks];
