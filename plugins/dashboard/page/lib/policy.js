/** Policies of playback: who may watch a stream, an asset, or what an account has. */

/** Kinds of a policy: value, title, what it means. '' is none of its own. */
export const policyTypes = [
  ['', 'Default', 'As the account or the deployment says'],
  ['public', 'Public', 'Everybody who knows the URL'],
  ['signed', 'Signed', 'Viewers with a token of one of your signing keys'],
  ['webhook', 'Webhook', 'Viewers that your server lets in'],
];

/** Who may watch, as one sentence. Undefined: there is no policy. */
export function policySentence(policy) {
  if (!policy) return 'As the account or the deployment says.';
  const { type, webhookUrl, onError } = policy;
  const where = restrictionsOf(policy);
  if (type === 'public') return `Everybody who knows the URL may watch${where}.`;
  if (type === 'signed')
    return `Viewers need a token of one of your signing keys${where && `, and watch${where}`}.`;
  const silent = onError === 'allow' ? 'let in' : 'refused';
  return `${webhookUrl} is asked about each viewer${where && ` who watches${where}`}. While it does not answer, viewers are ${silent}.`;
}

/** ` from pages of https://a.example, from DE`; '' without restrictions. */
function restrictionsOf({ allowedOrigins = [], allowNoOrigin, countries = [], cidrs = [] }) {
  const pages = allowedOrigins.length > 0 && ` from pages of ${some(allowedOrigins)}`;
  const parts = [
    pages && (allowNoOrigin ? `${pages} or from apps` : pages),
    countries.length > 0 && ` from the countries ${some(countries)}`,
    cidrs.length > 0 && ` from the addresses ${some(cidrs)}`,
  ];
  return parts.filter(Boolean).join(',');
}

/** The first three. */
function some(values) {
  const rest = values.length - 3;
  return values.slice(0, 3).join(' or ') + (rest > 0 ? ` or ${rest} more` : '');
}

/** What a form holds. */
export function draftOf({
  type = '',
  allowedOrigins,
  allowNoOrigin,
  countries,
  cidrs,
  webhookUrl,
  onError,
} = {}) {
  const lines = (values = []) => values.join('\n');
  return {
    ...{ type, origins: lines(allowedOrigins), allowNoOrigin: allowNoOrigin ?? false },
    ...{ countries: lines(countries), cidrs: lines(cidrs) },
    ...{ webhookUrl: webhookUrl ?? '', webhookSecret: '', onError: onError ?? 'refuse' },
  };
}

/** The policy that a form means; null: none. */
export function policyOf(draft) {
  const { type, webhookUrl, webhookSecret, onError } = draft;
  if (type === '') return null;
  const origins = linesOf(draft.origins);
  const countries = linesOf(draft.countries).map((code) => code.toUpperCase());
  const cidrs = linesOf(draft.cidrs);
  return {
    type,
    ...(origins.length > 0 && { allowedOrigins: origins }),
    ...(origins.length > 0 && draft.allowNoOrigin && { allowNoOrigin: true }),
    ...(countries.length > 0 && { countries }),
    ...(cidrs.length > 0 && { cidrs }),
    ...(type === 'webhook' && {
      ...(webhookUrl.trim() !== '' && { webhookUrl: webhookUrl.trim() }),
      ...(webhookSecret !== '' && { webhookSecret }),
      onError,
    }),
  };
}

const linesOf = (text) => text.split(/[\s,]+/).filter((line) => line !== '');

const begun = (text) => text[0].toUpperCase() + text.slice(1);

/**
 * Sentences of the API by the field of the policy that they are about: `{allowedOrigins: 'Line 2: expected …', '': 'the rest'}`.
 */
export function problemsByField(sentences) {
  const found = {};
  for (const sentence of sentences) {
    const [, field = '', index, text = sentence] =
      /^playbackPolicy\.(\w+)(?:\.(\d+))?: (.*)$/s.exec(sentence) ?? [];
    const line = index === undefined ? begun(text) : `Line ${Number(index) + 1}: ${text}`;
    found[field] = found[field] ? `${found[field]} ${line}` : line;
  }
  return found;
}
