/** Where to broadcast to while ingest discovery is off: streams name it all the same. */
export { nodeAddresses } from './node-addresses.ts';
