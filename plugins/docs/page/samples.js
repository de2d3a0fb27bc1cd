/**
 * Code that makes a call of the API, in four languages, written from its OpenAPI operation. `calls`: names of the calls that
 * `millrace/client` has. Keys come from the environment, as they should in a program.
 */
export function samplesOf(operation, { method, path, server, calls }) {
  const call = callOf(operation, { method, path, server });
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call, calls.has(operation.operationId)) },
    { lang: 'Python', label: 'Python', source: python(call) },
    { lang: 'Go', label: 'Go', source: go(call) },
  ];
}

function callOf(operation, { method, path, server }) {
  const { operationId: name, parameters = [], requestBody, responses, security = [] } = operation;
  const given = (place) =>
    parameters
      .filter((one) => one.in === place && one.required)
      .map((one) => [one.name, String(exampleOf(one.schema ?? {}))]);
  const inPath = Object.fromEntries(given('path'));
  const filled = path.replace(/\{(\w+)\}/g, (_, key) => encodeURIComponent(inPath[key]));
  const query = given('query');
  const search = new URLSearchParams(query).toString();
  const content = requestBody?.content ?? {};
  const [fileType] = Object.keys(content);
  const json = content['application/json'];
  return {
    ...{ name, server, inPath, query, method: method.toUpperCase() },
    path: filled,
    url: `${server}${filled}${search && `?${search}`}`,
    headers: given('header'),
    isKeyed: security.length > 0,
    body: json?.example,
    hasBody: json !== undefined,
    fileType: json ? undefined : fileType,
    answer: answerOf(responses),
    file: filled.slice(filled.lastIndexOf('/') + 1) || 'answer',
  };
}

/** What comes back: `json`, `text`, `file`, `events`, or `nothing`. */
function answerOf(responses) {
  const [, success] = Object.entries(responses).find(([status]) => status < '300') ?? [];
  const types = Object.keys(success?.content ?? {});
  if (types.length === 0) return 'nothing';
  if (types.includes('application/json')) return 'json';
  if (types.includes('text/event-stream')) return 'events';
  return types.every((type) => /^(video|image)\/|^application\/vnd\.ipld/.test(type)) ? 'file' : 'text';
}

/** A value that a parameter may have. */
export function exampleOf({ examples = [], default: initial, enum: choices = [], minimum, type }) {
  return examples[0] ?? initial ?? choices[0] ?? minimum ?? (type === 'string' ? 'text' : 0);
}

/** Headers of a call but for the key, in the order in which people read them. */
function headersOf({ headers, hasBody, fileType }) {
  const type = hasBody ? 'application/json' : fileType;
  return type ? [...headers, ['Content-Type', type]] : headers;
}

function curl(call) {
  const { method, url, isKeyed, hasBody, body, fileType, answer, file } = call;
  // What curl does by itself is not said.
  const isPlain = method === 'GET' || (method === 'POST' && (hasBody || fileType));
  const parts = [
    `curl ${answer === 'events' ? '-N ' : ''}${isPlain ? '' : `-X ${method} `}${shellText(url)}`,
    ...(isKeyed ? ['-H "Authorization: Bearer $MILLRACE_KEY"'] : []),
    ...headersOf(call).map(([name, value]) => `-H ${shellText(`${name}: ${value}`)}`),
    ...(hasBody ? [`-d ${shellText(JSON.stringify(body, null, 2))}`] : []),
    ...(fileType ? ['--data-binary @film.mp4'] : []),
    ...(answer === 'file' ? [`-o ${shellText(file)}`] : []),
  ];
  return parts.join(' \\\n  ');
}

function shellText(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function typescript(call, isKnown) {
  const { server, isKeyed, fileType, answer, file } = call;
  if (fileType) return fetched(call);
  const options = `{ baseUrl: ${jsText(server)}${isKeyed ? ', key: process.env.MILLRACE_KEY' : ''} }`;
  const saves = answer === 'file';
  const lines = [
    ...(saves ? ["import { writeFile } from 'node:fs/promises';"] : []),
    "import { millrace } from 'millrace/client';",
    '',
    `const client = millrace(${options});`,
  ];
  if (answer === 'events') {
    const loop = [
      'for await (const { event, stream } of client.events()) {',
      '  console.log(event, stream);',
    ];
    return [...lines, ...loop, '}'].join('\n');
  }
  if (isKnown) {
    const made = `await client.${call.name}(${argumentOf(call)});`;
    return [
      ...lines,
      ...(answer === 'nothing' ? [made] : [`const answer = ${made}`, 'console.log(answer);']),
    ].join('\n');
  }
  const shown = {
    json: ['console.log(await response.json());'],
    text: ['console.log(await response.text());'],
    file: [`await writeFile(${jsText(file)}, Buffer.from(await response.arrayBuffer()));`],
    nothing: [],
  }[answer];
  const made = `await client.request(${jsOf(requestOf(call))});`;
  return [...lines, ...(shown.length > 0 ? [`const response = ${made}`] : [made]), ...shown].join('\n');
}

function requestOf({ method, path, query, headers, hasBody, body }) {
  return {
    ...{ method, path },
    ...(query.length > 0 && { query: Object.fromEntries(query) }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    ...(hasBody && { body }),
  };
}

function argumentOf({ inPath, query, hasBody, body }) {
  const given = {
    ...inPath,
    ...(query.length > 0 && { query: Object.fromEntries(query) }),
    ...(hasBody && { body }),
  };
  return Object.keys(given).length > 0 ? jsOf(given) : '';
}

/** A file as the body: the client sends JSON. */
function fetched(call) {
  const { url, method, isKeyed, answer } = call;
  const headers = Object.fromEntries(headersOf(call));
  const key = isKeyed ? `    Authorization: \`Bearer \${process.env.MILLRACE_KEY}\`,\n` : '';
  const written = Object.entries(headers).map(
    ([name, value]) => `    ${propertyName(name)}: ${jsText(value)},\n`,
  );
  return [
    "import { openAsBlob } from 'node:fs';",
    '',
    `const response = await fetch(${jsText(url)}, {`,
    `  method: ${jsText(method)},`,
    `  headers: {\n${key}${written.join('')}  },`,
    "  body: await openAsBlob('film.mp4'),",
    '});',
    `console.log(response.status${answer === 'json' ? ', await response.json()' : ''});`,
  ].join('\n');
}

/** A value of JSON as people write it in JavaScript. */
function jsOf(value, indent = '') {
  const inner = `${indent}  `;
  if (typeof value === 'string') return jsText(value);
  if (Array.isArray(value)) {
    const items = value.map((one) => jsOf(one, inner));
    return lines(items, { open: '[', close: ']', indent, isShort: !value.some((one) => isNested(one)) });
  }
  if (!isNested(value)) return JSON.stringify(value);
  const items = Object.entries(value).map(([name, one]) => `${propertyName(name)}: ${jsOf(one, inner)}`);
  return lines(items, {
    ...{ open: '{ ', close: ' }', indent },
    isShort: !Object.values(value).some((one) => isNested(one)),
  });
}

function isNested(value) {
  return typeof value === 'object' && value !== null;
}

/** Items beside each other where they are few and short, below each other otherwise. */
function lines(items, { open, close, indent, isShort }) {
  if (items.length === 0) return `${open.trim()}${close.trim()}`;
  const flat = `${open}${items.join(', ')}${close}`;
  if (isShort && flat.length <= 60) return flat;
  const inner = items.map((one) => `${indent}  ${one},\n`).join('');
  return `${open.trim()}\n${inner}${indent}${close.trim()}`;
}

function propertyName(name) {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : jsText(name);
}

function jsText(text) {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

function python(call) {
  const { method, url, isKeyed, hasBody, body, fileType, answer, file } = call;
  const reads = answer === 'json' || hasBody;
  const imports = [...(reads ? ['import json'] : []), ...(isKeyed ? ['import os'] : [])];
  const headers = [
    ...(isKeyed ? [`"Authorization": f"Bearer {os.environ['MILLRACE_KEY']}",`] : []),
    ...headersOf(call).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)},`),
  ];
  const parts = [
    `${JSON.stringify(url)},`,
    ...(method === 'GET' ? [] : [`method="${method}",`]),
    ...(headers.length > 0 ? [`headers={\n        ${headers.join('\n        ')}\n    },`] : []),
    ...(hasBody ? [`data=json.dumps(${pythonOf(body, '    ')}).encode(),`] : []),
    ...(fileType ? ['data=open("film.mp4", "rb"),'] : []),
  ];
  const shown = {
    json: ['print(json.load(response))'],
    text: ['print(response.read().decode())'],
    file: [`open(${JSON.stringify(file)}, "wb").write(response.read())`],
    events: ['for line in response:', '    print(line.decode(), end="")'],
    nothing: ['print(response.status)'],
  }[answer];
  return [
    ...imports,
    'from urllib.request import Request, urlopen',
    '',
    `request = Request(\n    ${parts.join('\n    ')}\n)`,
    'with urlopen(request) as response:',
    ...shown.map((line) => `    ${line}`),
  ].join('\n');
}

/** A value of JSON as Python has it. What a text of JSON escapes, Python escapes alike. */
function pythonOf(value, indent) {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (!isNested(value)) return JSON.stringify(value);
  const inner = `${indent}    `;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const items = Array.isArray(value)
    ? value.map((one) => pythonOf(one, inner))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonOf(one, inner)}`);
  const flat = `${open}${items.join(', ')}${close}`;
  if (flat.length <= 60 && !flat.includes('\n')) return flat;
  return `${open}\n${items.map((one) => `${inner}${one},\n`).join('')}${indent}${close}`;
}

function go(call) {
  const { method, url, isKeyed, hasBody, body, fileType, answer, file } = call;
  const saves = answer === 'file';
  const needsFiles = isKeyed || saves || fileType || answer !== 'nothing';
  const imports = [
    ...(answer === 'nothing' ? ['fmt'] : ['io']),
    ...['log', 'net/http'],
    ...(needsFiles ? ['os'] : []),
    ...(hasBody ? ['strings'] : []),
  ];
  const fails = (indent = '\t') => `${indent}if err != nil {\n${indent}\tlog.Fatal(err)\n${indent}}`;
  const sent = hasBody ? 'body' : fileType ? 'file' : 'nil';
  const keys = isKeyed ? ['\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("MILLRACE_KEY"))'] : [];
  const read = {
    file: [
      ...[`\tfile, err := os.Create(${JSON.stringify(file)})`, fails(), '\tdefer file.Close()'],
      '\tif _, err := io.Copy(file, response.Body); err != nil {\n\t\tlog.Fatal(err)\n\t}',
    ],
    nothing: ['\tfmt.Println(response.Status)'],
  }[answer] ?? ['\tif _, err := io.Copy(os.Stdout, response.Body); err != nil {\n\t\tlog.Fatal(err)\n\t}'];
  return [
    `package main\n\nimport (\n${imports.map((name) => `\t"${name}"\n`).join('')})\n`,
    'func main() {',
    ...(hasBody ? [`\tbody := strings.NewReader(${goText(JSON.stringify(body, null, 2))})`] : []),
    ...(fileType ? ['\tfile, err := os.Open("film.mp4")', fails(), '\tdefer file.Close()'] : []),
    `\trequest, err := http.NewRequest("${method}", ${JSON.stringify(url)}, ${sent})`,
    fails(),
    ...keys,
    ...headersOf(call).map(
      ([name, value]) => `\trequest.Header.Set(${JSON.stringify(name)}, ${JSON.stringify(value)})`,
    ),
    '\tresponse, err := http.DefaultClient.Do(request)',
    fails(),
    '\tdefer response.Body.Close()',
    '\tif response.StatusCode >= 400 {\n\t\tlog.Fatal(response.Status)\n\t}',
    ...read,
    '}',
  ].join('\n');
}

/** A raw text where Go can have it: in one there is no backtick. */
function goText(text) {
  return text.includes('`') ? JSON.stringify(text) : `\`${text}\``;
}
