/**
 * How a receiver checks that a delivery came from this server (Standard Webhooks): an HMAC-SHA256 of `id.timestamp.body`, in base64.
 * `webhook-signature` has one `v1,…` for each secret in force. Node and Python are run by test/e2e/harness/signature-code.ts.
 */
export const signatures = [
  {
    id: 'node',
    title: 'Node',
    code: `import { createHmac, timingSafeEqual } from 'node:crypto';

/** \`headers\`: names in lower case. \`body\`: the bytes as they came, before JSON.parse. */
export function isGenuine({ headers, body, secret }) {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures } = headers;
  if (!id || !signatures || !(Math.abs(Date.now() / 1000 - time) < 300)) return false;
  const expected = createHmac('sha256', key).update(\`\${id}.\${time}.\`).update(body).digest();
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
`,
  },
  {
    id: 'python',
    title: 'Python',
    code: `import base64, hashlib, hmac, time

def is_genuine(headers, body, secret):
    """headers: names in lower case; body: the bytes as they came."""
    key = base64.b64decode(secret[6:] + "==") if secret.startswith("whsec_") else secret.encode()
    id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent.isdigit() or abs(time.time() - int(sent)) > 300:
        return False
    digest = hmac.new(key, f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(one.encode(), expected.encode()) for one in given)
`,
  },
  {
    id: 'go',
    title: 'Go',
    code: `package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// IsGenuine takes the body as it came.
func IsGenuine(header http.Header, body []byte, secret string) bool {
	key := []byte(secret)
	if rest, found := strings.CutPrefix(secret, "whsec_"); found {
		key, _ = base64.RawStdEncoding.DecodeString(strings.TrimRight(rest, "="))
	}
	id, sent := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || math.Abs(time.Since(time.Unix(seconds, 0)).Seconds()) > 300 {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + sent + "."))
	mac.Write(body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, one := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(one), []byte(expected)) {
			return true
		}
	}
	return false
}
`,
  },
  {
    id: 'php',
    title: 'PHP',
    code: `<?php
/** $headers: names in lower case; $body: file_get_contents('php://input'). */
function isGenuine(array $headers, string $body, string $secret): bool
{
    $key = str_starts_with($secret, 'whsec_') ? base64_decode(substr($secret, 6)) : $secret;
    $id = $headers['webhook-id'] ?? '';
    $time = $headers['webhook-timestamp'] ?? '';
    if (!ctype_digit($time) || abs(time() - (int) $time) > 300) {
        return false;
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true));
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $one) {
        if (hash_equals($expected, $one)) {
            return true;
        }
    }
    return false;
}
`,
  },
];

/** A secret as the server takes it: 24 random bytes. */
export function newSecret() {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
