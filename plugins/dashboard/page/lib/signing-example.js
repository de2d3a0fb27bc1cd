/** Code that signs a token with the private half of a signing key. Run by test/e2e/dashboard-protection.e2e.ts. */
export const signingExample = ({ keyId, algorithm }) => `import { sign } from 'node:crypto';
import { readFileSync } from 'node:fs';

const privateKey = readFileSync('${keyId}.pem', 'utf8');
const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token with which one viewer can begin to watch a playback id in the next hour. */
export function playbackToken(playbackId, viewer) {
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: '${algorithm}', typ: 'JWT', kid: '${keyId}' };
  const claims = { sub: playbackId, iat: now, exp: now + 3600, viewer };
  const text = \`\${part(header)}.\${part(claims)}\`;
  const signature = sign('sha256', Buffer.from(text), ${algorithm === 'RS256' ? 'privateKey' : "{ key: privateKey, dsaEncoding: 'ieee-p1363' }"});
  return \`\${text}.\${signature.toString('base64url')}\`;
}
`;
