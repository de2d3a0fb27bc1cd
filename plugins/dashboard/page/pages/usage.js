import { useState } from 'preact/hooks';
import { access, allows, call } from '../lib/api.js';
import { hasField } from '../lib/extensions.js';
import { html } from '../lib/html.js';
import { amountOf, limitText, unknownUsage, usageFacts } from '../lib/limits.js';
import { List } from '../lib/list.js';
import { useLoad } from '../lib/load.js';
import { AsCurl, Empty, Head, Id, Problem, Time } from '../lib/parts.js';
import { policyTypes } from '../lib/policy.js';
import { LimitsForm } from './limits-form.js';
import { PolicyForm } from './policy-form.js';

export function Page() {
  if (!hasField('account', 'limits'))
    return html`<${Head} title="Usage" /><${Empty} title="Nothing is counted"><p>Usage and limits come with the plugin <code>limits</code>, which is off on this server.</p><//>`;
  return html`<${Head} title="Usage" />
    <div class="stack">
      <div class="narrow"><${Usage} /></div>
      ${allows('GET', 'account') && html`<${Accounts} />`}
    </div>
    <${AsCurl} path="/api/account/usage" />`;
}

function Usage() {
  const { data, error } = useLoad(() => call('GET', '/api/account/usage'), { every: 10_000 });
  return html`<section class="card" aria-label="Use of this account">
    <${Problem} text=${error} />
    <${Bars} usage=${data ?? unknownUsage} />
  </section>`;
}

/** What is used of each limit. */
function Bars({ usage }) {
  return html`<dl class="bars">
    ${Object.entries(usage).map(([name, { used, limit }]) => {
      const { title, hint } = usageFacts(name);
      const share = limit ? Math.min(1, used / limit) : 0;
      return html`<div key=${name}>
        <dt title=${name}>${title} ${hint && html`<span class="hint">${hint}</span>`}</dt>
        <dd>
          <span><strong>${amountOf(name, used)}</strong> <span class="muted">${limit === null ? 'limit: none' : limit !== undefined && `of ${limitText(name, limit)}`}</span></span>
          ${
            !Number.isFinite(limit)
              ? html`<span class="bar-place"></span>`
              : html`<meter value=${limit === 0 ? 1 : share} low="0.8" high="0.95" optimum="0" aria-label=${`${title}: ${Math.round(share * 100)} % used`}></meter>`
          }
        </dd>
      </div>`;
    })}
  </dl>`;
}

/** All accounts, for the admin. */
function Accounts() {
  const [turn, setTurn] = useState(0);
  // `{account, form}`
  const [open, setOpen] = useState();
  const close = () => setOpen(undefined);
  const done = () => {
    close();
    setTurn(turn + 1);
  };
  const isPolicy = open?.form === 'policy';
  return html`<section class="stack tight" aria-label="Accounts">
    <h2>Accounts</h2>
    <${List} path="/api/account" turn=${turn} filters=${[{ id: 'name', title: 'Name' }]} columns=${columnsOf(setOpen)} />
    ${open && !isPolicy && html`<${LimitsForm} account=${open.account} onClose=${close} onDone=${done} />`}
    ${isPolicy && html`<${PolicyForm} path=${`/api/account/${open.account.id}`} policy=${open.account.playbackPolicy} onClose=${close} onDone=${done} />`}
  </section>`;
}

function columnsOf(setOpen) {
  const button = (account, form, title) =>
    allows('PATCH', `account/${account.id}`) &&
    html`<button class="copy" type="button" aria-label=${`${title} of ${account.name}`} onClick=${() => setOpen({ account, form })}>${title}</button>`;
  return [
    {
      title: 'Name',
      order: 'name',
      cell: ({ id, name }) =>
        html`${name}${id === access.value?.userId && html` <span class="muted">(yours)</span>`}`,
    },
    { title: 'Id', cell: ({ id }) => html`<${Id} id=${id} />` },
    {
      title: 'Limits',
      cell: ({ id, limits }) => {
        const text = limitsText(limits, id === access.value?.userId);
        return html`<span class="some" title=${text}>${text}</span>`;
      },
    },
    ...(hasField('account', 'playbackPolicy')
      ? [{ title: 'Who may watch', cell: ({ playbackPolicy }) => typeText(playbackPolicy) }]
      : []),
    { title: 'Created', order: 'createdAt', cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
    {
      title: '',
      isEnd: true,
      cell: (account) =>
        html`${button(account, 'limits', 'Use and limits')} ${hasField('account', 'playbackPolicy') && button(account, 'policy', 'Who may watch')}`,
    },
  ];
}

/** The admin account has no limits of the deployment. */
function limitsText(limits, isAdmin) {
  const own = Object.entries(limits ?? {});
  if (own.length === 0) return isAdmin ? 'None' : 'Those of the deployment';
  return own.map(([name, limit]) => `${usageFacts(name).title}: ${limitText(name, limit)}`).join(', ');
}

function typeText(policy) {
  return policy ? policyTypes.find(([type]) => type === policy.type)?.[1] : 'Default';
}
