import type { Config } from './schema.ts';

/** What this config holds that no log, no answer and no message may repeat, longest first. */
export function secretsOf(config: Config): string[] {
  const { redis, kafka, s3, node, bootstrapKey } = config;
  const passwords = [...passwordsOf(redis.url), kafka.sasl?.password];
  const found = [...passwords, s3.secretAccessKey, node.secret, bootstrapKey];
  const texts = found.filter((text) => text !== undefined && text !== '') as string[];
  // In a line of JSON it may look otherwise.
  const written = texts.flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]);
  return [...new Set(written)].sort((a, b) => b.length - a.length);
}

/** The text with `***` in place of each of them. */
export function concealed(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

/** As it stands in the URL, and as it is meant. */
function passwordsOf(url: string | undefined): string[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const { password } = new URL(url);
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}
