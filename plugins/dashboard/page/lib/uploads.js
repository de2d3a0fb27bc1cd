import { signal } from '@preact/signals';
import { call, key, sentence } from './api.js';
import { localUrl } from './local-url.js';
import { randomId } from './random-id.js';

/** Files that are sent at once; the others wait. */
const most = 3;
/** Of one request: proxies often refuse larger bodies. */
const chunkSize = 50_000_000;
const retryDelays = [0, 1000, 3000, 5000, 10_000, 30_000];
/** ms over which the speed is measured. */
const speedTime = 4000;
/** ms for which a signed URL is valid, with a margin. */
const urlTime = 11.5 * 3_600_000;
const storedAs = 'millrace.uploads';
/** tus uploads and files by the id of their asset: neither can be stored. */
const senders = new Map();

/**
 * Uploads of this browser, oldest first. They go on while the reader moves through the dashboard. After a reload the browser no longer has
 * the file: the reader chooses it again, and the upload goes on at the byte that the server has.
 *
 * `state`: `waiting`, `sending`, `paused`, `lost` (the file has to be chosen again), `done` or `failed`.
 */
export const uploads = signal(remembered());

// Signed URLs are left to nobody who uses this browser next.
let signedIn = key.value;
key.subscribe((now) => {
  if (signedIn && !now) endAll();
  signedIn = now;
});

function endAll() {
  for (const { tus } of senders.values()) void tus?.abort();
  senders.clear();
  uploads.value = [];
  store();
}

/** Sends files, each as a new asset. */
export function addFiles(files) {
  const added = [...files].map((file) => {
    const id = randomId();
    senders.set(id, { file });
    return { id, name: file.name, size: file.size, modified: file.lastModified, sent: 0, state: 'waiting' };
  });
  uploads.value = [...uploads.value, ...added];
  next();
}

export function pause(id) {
  void senders.get(id)?.tus?.abort();
  change(id, { state: 'paused', speed: undefined });
  next();
}

export function resume(id) {
  change(id, { state: 'waiting', problem: undefined });
  next();
}

/** Ends an upload and deletes its asset, which would never get a file. */
export async function cancel(id) {
  const upload = find(id);
  forget(id);
  const { tus } = senders.get(id) ?? {};
  senders.delete(id);
  // The server may have ended it already.
  await tus?.abort(true).catch(() => undefined);
  if (upload?.assetId) await call('DELETE', `/api/asset/${upload.assetId}`).catch(() => undefined);
  next();
}

/** Takes one that has ended out of the dock. */
export function forget(id) {
  uploads.value = uploads.value.filter((upload) => upload.id !== id);
  store();
}

/** Goes on with an upload of before the reload. Returns why not, when this is another file. */
export function chooseAgain(id, file) {
  const upload = find(id);
  if (!upload || !file) return undefined;
  if (file.name !== upload.name || file.size !== upload.size || file.lastModified !== upload.modified)
    return `This is another file. Choose ${upload.name} as it was.`;
  senders.set(id, { file });
  resume(id);
  return undefined;
}

function next() {
  const sending = uploads.value.filter(({ state }) => state === 'sending').length;
  for (const { id } of uploads.value.filter(({ state }) => state === 'waiting').slice(0, most - sending)) {
    change(id, { state: 'sending' });
    void send(id);
  }
}

async function send(id) {
  try {
    const { Upload } = await tusLibrary();
    const sender = senders.get(id);
    const upload = await withEndpoint(id);
    // Meanwhile it may have been paused or cancelled.
    if (!sender || find(id)?.state !== 'sending') return;
    sender.tus ??= new Upload(sender.file, optionsOf(upload));
    sender.tus.start();
  } catch (error) {
    fail(id, sentence(error));
  }
}

/** Asks for the asset of an upload that has none yet. */
async function withEndpoint(id) {
  const upload = find(id);
  if (upload.endpoint) return upload;
  const { asset, tusEndpoint } = await call('POST', '/api/asset/request-upload', {
    body: { name: upload.name },
  });
  const isGone = !find(id);
  if (isGone) await call('DELETE', `/api/asset/${asset.id}`).catch(() => undefined);
  change(id, { assetId: asset.id, endpoint: localUrl(tusEndpoint), until: Date.now() + urlTime });
  return find(id) ?? upload;
}

function optionsOf({ id, endpoint, url, name }) {
  const measure = speedometer();
  return {
    endpoint,
    chunkSize,
    retryDelays,
    ...(url && { uploadUrl: url }),
    metadata: { filename: name },
    // What is to be remembered is remembered here, with the name and the asset.
    storeFingerprintForResuming: false,
    onUploadUrlAvailable() {
      const { tus } = senders.get(id) ?? {};
      if (tus) change(id, { url: localUrl(tus.url) });
    },
    onProgress: (sent) => change(id, { sent, speed: measure(sent) }),
    onError: (error) => fail(id, reasonOf(error)),
    onSuccess() {
      senders.delete(id);
      change(id, { state: 'done', sent: find(id)?.size, speed: undefined });
      next();
    },
  };
}

/** Bytes a second over the last seconds, of how much was sent by when. */
function speedometer() {
  let points = [];
  return (sent) => {
    const now = performance.now();
    points = [...points.filter(({ at }) => now - at < speedTime), { at: now, sent }];
    const [first] = points;
    const seconds = (now - first.at) / 1000;
    return seconds > 0.5 ? Math.max(0, sent - first.sent) / seconds : undefined;
  };
}

/** The server's sentence, which is in the body of its answer. */
function reasonOf(error) {
  const body = error.originalResponse?.getBody();
  try {
    return JSON.parse(body).errors[0];
  } catch {
    return body ? `The server answered ${error.originalResponse.getStatus()}.` : sentence(error);
  }
}

function fail(id, problem) {
  change(id, { state: 'failed', problem, speed: undefined });
  next();
}

const find = (id) => uploads.value.find((upload) => upload.id === id);

function change(id, values) {
  uploads.value = uploads.value.map((upload) => (upload.id === id ? { ...upload, ...values } : upload));
  store();
}

function store() {
  const open = uploads.value.filter(({ state, url }) => url && state !== 'done');
  const kept = open.map(({ speed: _, problem: _problem, state: _state, ...rest }) => rest);
  localStorage.setItem(storedAs, JSON.stringify(kept));
}

function remembered() {
  try {
    const stored = JSON.parse(localStorage.getItem(storedAs) ?? '[]');
    const open = stored.filter(({ until }) => until > Date.now());
    return open.map((upload) => ({ ...upload, state: 'lost' }));
  } catch {
    return [];
  }
}

let library;
/** tus-js-client is a classic script: it is loaded when the first file is sent. */
function tusLibrary() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = '/dashboard/app/vendor/tus.js';
    script.addEventListener('load', () => resolve(window.tus));
    script.addEventListener('error', () => {
      library = undefined;
      reject(new Error('the uploader did not load'));
    });
    document.head.append(script);
  });
  return library;
}
