/**
 * Which test holds which decision about the live half of the API: conventions, accounts and API keys, streams, the
 * two windows, ingest discovery, playback, the event stream, and what a deployment relies on.
 * test/arch/decisions.test.ts fails when a named test is gone.
 */

/** What was decided, and the tests that would fail otherwise: file below test/, and title. */
export type Decision = readonly [decision: string, ...tests: `${string}: ${string}`[]];

const streams = 'plugins/streams.test.ts';
const contract = 'plugins/contract.test.ts';
const lists = 'plugins/lists.test.ts';
const idempotency = 'plugins/idempotency.test.ts';
const accounts = 'plugins/accounts.test.ts';
const ends = 'plugins/broadcast-end.test.ts';
const multistream = 'plugins/multistream.test.ts';
const pushes = 'plugins/pushes/live.test.ts';
const renditions = 'plugins/renditions.test.ts';
const assets = 'plugins/assets.test.ts';
const uploads = 'plugins/uploads.test.ts';
const exports = 'plugins/exports.test.ts';
const exportRuns = 'plugins/export-runs.test.ts';
const imports = 'plugins/imports.test.ts';
const task = 'machines/task.test.ts';
const served = 'plugins/tasks.test.ts';
const output = 'hls/output.test.ts';
const start = 'e2e/start.e2e.ts';

export const decisions: Readonly<Record<string, readonly Decision[]>> = {
  Conventions: [
    [
      'ids are uuid v4, keys base36 from a CSPRNG',
      `${contract}: are uuid v4, and keys base36, never the same twice`,
    ],
    [
      'createdAt of streams and sessions in seconds, all else in milliseconds',
      `${contract}: are in seconds as createdAt of streams and sessions, in milliseconds everywhere else`,
    ],
    [
      'a body is JSON whatever its type; malformed is 400',
      `${contract}: is read as JSON when its type is %s`,
      'kernel/body.test.ts: is refused when it is %s',
    ],
    [
      'read-only fields are accepted and ignored',
      `${contract}: may hold all that is read of a stream, a session and a key: what is read-only is ignored`,
      `${streams}: can be sent back as it was read`,
      `${accounts}: has a name, access to everything, and what was read can be sent back`,
      `${multistream}: is changed by what a PATCH names, and can be sent back as it was read`,
    ],
    ['an unknown field is 422', `${contract}: of %s %s has no field that no table knows`],
    [
      'errors are a list and a stable code; a 5xx shows no stack',
      `${contract}: is a list of messages and a code, whatever the status; a 5xx shows nothing of the inside`,
    ],
    [
      'every code is in a table',
      'arch/reference.test.ts: has every fault code that the code can throw',
      'arch/reference.test.ts: is what the program is: otherwise run "bun scripts/reference.ts"',
    ],
    [
      'a validation error names the field and what was expected',
      `${streams}: is refused with the field named: %j`,
    ],
    [
      'Bearer in any case; missing or wrong is 401',
      `${contract}: are taken with the scheme written %s`,
      `${contract}: are missing as %j: 401 with the way to do it`,
      'plugins/keyed-routes.test.ts: needs a key',
      'plugins/keyed-routes.test.ts: needs a right key',
    ],
    ['valid but not allowed is 403', 'plugins/keyed-routes.test.ts: needs a key with its scope'],
    [
      "another account's resource is 404 in a path, 400 in a body",
      "plugins/keyed-routes.test.ts: hides what is another account's",
      `${multistream}: is refused with 400 and a message that names what is wrong, and makes nothing`,
    ],
    [
      'lists: a bare array, limit, Link only when there is a next page',
      `${lists}: is a bare array, newest first, twenty at a time, and says where the next page is`,
      `${lists}: has no next page when the last row is on this one`,
    ],
    ['lists: order', `${lists}: is ordered by %s`],
    ['lists: filters', `${lists}: are by what the stream object shows`, `${lists}: refuse %j`],
    ['lists: count', `${lists}: is counted when asked, whatever the page`],
    [
      'lists: no row is skipped or repeated while others come and go',
      `${lists}: sees each that was there throughout exactly once, %s`,
    ],
    [
      'lists: name sorts or ranks',
      `${lists}: ranks the same name, then those that begin with it, then those that contain it, then the others`,
    ],
    [
      'a bad cursor, order, filter or limit is 422',
      `${lists}: refuses %s with 422`,
      `${lists}: refuses a cursor that was changed, cut, or made for another order`,
    ],
    [
      'Idempotency-Key: the first answer again, for 24 h',
      `${idempotency}: that comes again gets the first answer, and nothing is made`,
      `${idempotency}: is remembered for 24 h, and then forgotten`,
      `${idempotency}: survives a crash`,
    ],
    ['Idempotency-Key: another body is 422, on every POST', `${idempotency}: knows Idempotency-Key`],
    [
      'Idempotency-Key: a second request waits, 409 after 10 s',
      `${idempotency}: is 409 after 10 s, and gets the answer when there is one`,
    ],
    [
      'Idempotency-Key: an API key is not shown again',
      `${idempotency}: never shows an API key again: 409 names what was made`,
    ],
    [
      'CORS: * for playback and ingest discovery',
      `${output}: headers and unknown files`,
      'plugins/ingest.test.ts: lets a browser ask first',
      'plugins/playback.test.ts: lets a browser ask first',
    ],
    [
      'CORS: off for the API, but for the origins of the key',
      'plugins/cors.test.ts: is used from their pages: every answer may be read',
      'plugins/cors.test.ts: is refused to other pages, before anything happens',
      'plugins/cors.test.ts: is refused to every page but our own',
    ],
    [
      'userId is the account, createdByTokenName the key',
      `${accounts}: has its own streams, which name it and the key`,
    ],
  ],
  'Accounts and API keys': [
    [
      'the bootstrap key is made at the first start, mode 0600',
      `${contract}: is made once, for its owner to read alone`,
    ],
    ['it is in no log', 'secrets.test.ts: are in nothing that a run printed or answered'],
    [
      'it belongs to the admin account',
      `${contract}: belongs to the admin account, and an account sees nothing of another`,
    ],
    [
      'accounts are made by the admin alone',
      `${accounts}: is made by the admin`,
      `${accounts}: is made by nobody else`,
    ],
    [
      'the secret of a key is shown once',
      `${accounts}: is made with its secret shown once`,
      `${accounts}: is never in the store, a list or the log`,
    ],
    ['accountId is for the admin, else 403', `${accounts}: is made for another account by the admin alone`],
    [
      'DELETE is effective at once',
      `${accounts}: stops working at once when it is deleted`,
      `${accounts}: takes its open event streams with it, and no others`,
    ],
    [
      'rules are an allow-list; absent is everything, [] nothing',
      `${accounts}: may do what they say, and is told what is missing`,
      'kernel/access.test.ts: allow everything when absent and nothing when empty',
    ],
    [
      'a key gives on no more than it has',
      `${accounts}: gives on what it has and no more`,
      'kernel/access.test.ts: never widens',
    ],
    ['allowedOrigins make a key usable from browsers', 'plugins/cors.test.ts: may allow all'],
  ],
  Streams: [
    [
      'the list has parents and sessions; streamsonly, sessionsonly, active',
      `${lists}: are listed with streams, alone, by parent, and by whether they are recorded`,
      `${lists}: leave the list of what is on the air when they end`,
    ],
    ['name 1..500', `${contract}: with a name of %i characters is answered %i`],
    [
      'POST and PATCH take record, suspended, profiles, multistream, userTags, holdSeconds',
      `${contract}: takes every field that the contract names, at POST and at PATCH`,
    ],
    ['an absent multistream is empty', `${multistream}: is an empty list when absent`],
    [
      "absent profiles are the deployment's; what nothing makes is an issue",
      `${renditions}: come from the config when the creator names none, and stay as they were`,
      `${renditions}: say what is wrong with them, what to do, and when they are tried again`,
    ],
    [
      'profile: its fields and their least values',
      `${renditions}: take every field of the table, and its least values`,
      `${renditions}: are refused with the field named: %j`,
    ],
    ['profile: a name twice, or source, is 400', `${renditions}: are refused with a name that is taken: %#`],
    [
      'multistream: exactly one of id and spec; unknown or twice is 400',
      `${multistream}: is refused with 400 and a message that names what is wrong, and makes nothing`,
    ],
    [
      'multistream: a spec makes a target, its URL never comes back',
      `${multistream}: takes ids and specs, and shows ids alone`,
    ],
    [
      'multistream: a PATCH replaces it whole',
      `${multistream}: is replaced whole by a PATCH, and kept by one that does not name it`,
    ],
    ['PATCH {} is 204', `${contract}: is not changed by an empty PATCH, which is 204`],
    [
      'a session is its parent as it was, without streamKey, readable in four ways',
      `${contract}: is its parent as it was when it began, readable in all four ways`,
    ],
    ['any change of a session is 400', `${streams}: makes a read-only session with the parent as it was`],
    [
      'one session spans its reconnects',
      `${contract}: spans its reconnects: first id, first createdAt, summed duration`,
    ],
    [
      'suspended ends a broadcast and refuses new ones',
      `${contract}: that is suspended loses its broadcast, and refuses new ones as rejected, until it is not`,
    ],
    ['DELETE ends the broadcast', `${streams}: is gone after DELETE, with its broadcast`],
    ['terminate is 204 also when nothing is on', `${streams}: may be terminated when nothing is on`],
    [
      'rotate-key answers the stream; the old key stops at once',
      `${contract}: with a new key is answered with it; the old one stops working and its broadcast ends`,
    ],
    [
      'live figures, persisted at most every 30 s and at close',
      `${output}: figures: bytes, rate, time of the last media`,
      `${ends}: are whole after %s %s, with what was sent since the last report`,
    ],
    [
      'a second broadcast takes over, or is refused',
      `${streams}: is taken over by the same key: one session, the old connection closed`,
      'plugins/takeover.test.ts: take turns with busyKey refuse',
      'plugins/takeover.test.ts: with busyKey refuse show for a minute that one was refused, and what to do',
    ],
    [
      'a push of Millrace takes over from nobody',
      'plugins/takeover.test.ts: with busyKey %s: a push is refused while another is live',
      'plugins/takeover.test.ts: are let in as a push while the stream is off, held or recent, and give way to an encoder',
    ],
    [
      'after 3 takeovers in 60 s newcomers are refused for 30 s, with an issue',
      'plugins/takeover.test.ts: are braked: the fourth takeover is refused for 30 s, with an issue',
      'machines/takeover.test.ts: counts takeovers within 60 s, and no older ones',
    ],
    [
      'a refused publish hears Unauthorized or Rejected',
      'rtmp/session.test.ts: %s is told as %s, and nothing after it is parsed',
      'plugins/takeover.test.ts: are told apart from a suspended stream and an unknown key',
    ],
    [
      'a refused publish is closed within 3 s',
      'rtmp/listener.test.ts: closes who was refused within three seconds',
    ],
    [
      'handshake to publish within 10 s',
      'rtmp/listener.test.ts: closes who does not publish within ten seconds, silent or busy',
    ],
    [
      'no byte for 10 s ends a connection',
      'rtmp/listener.test.ts: ends a publish after ten seconds without a byte',
    ],
    [
      'at most so many connections an address',
      'rtmp/listener.test.ts: holds so many connections of an address, and gives their places back',
    ],
    ['RTMPS on its own port', 'rtmp/listener.test.ts: takes RTMPS on a port of its own'],
  ],
  'When a broadcast stops': [
    ['cleanly: at once idle, playlist gone', `${streams}: ends at once when the encoder says so`],
    [
      'uncleanly: held, active but not healthy, with an issue',
      `${contract}: it is active, unhealthy, and an issue says what happened and what to do`,
      `${streams}: is held for 30 s when the connection breaks, and no event tells of a return within`,
      `${streams}: counts hold from the last media, not from the loss`,
    ],
    [
      'holdSeconds of the stream, 0 too',
      `${ends}: take a holdSeconds that is set while the broadcast is on the air`,
      `${ends}: end at once with holdSeconds 0, still with a window to come back in`,
    ],
    [
      'back within hold: same playlist, one discontinuity, no event',
      `${output}: a publisher comes back: one playlist, one discontinuity, numbers that go on`,
      'media/in-process.test.ts: an encoder that vanishes is held; it comes back to the same playlist',
    ],
    [
      'back within the window: same session, started again, higher media sequence',
      `${streams}: continues the session within the reconnect window, with a higher media sequence`,
    ],
    ['later: a new session', `${streams}: begins a new session after the window`],
    ['terminate, suspend, rotate close both windows', `${streams}: closes both windows at %s %s`],
    [
      'nobody publishes: a blocked reload is answered unchanged within 8 s, a part that never came is 404',
      `${output}: nobody publishes: unchanged after 8 s; the hinted part is 404 at once`,
    ],
    ['a blocked reload that outlives hold is 404', `${output}: it is over: blocked requests are 404`],
    [
      'after a restart: back within hold is the same session',
      `${streams}: goes on with the same session when the encoder is back within hold`,
    ],
    [
      'after a restart: not back is idle, timed from then, even when the server was down',
      `${streams}: is idle, dated from the end of hold, when it was down for longer`,
      `${streams}: fires what fell due while it was down`,
      `${ends}: begin with the end of the process that had the connection, also when the next one dies as it starts`,
    ],
    [
      'stream.started when the playlist first works',
      `${streams}: is live once its playlist works, and tells so without the key`,
    ],
    ['a publish without media leaves no trace', `${streams}: leaves no trace when it never had media`],
  ],
  'Multistream targets': [
    [
      'the payload of its events: target {id, name, profile}, error?',
      `${pushes}: is pushed once it is on the air, and says when media flows and when no more does`,
      `${pushes}: is told once for each outage, and again when the reason changes`,
    ],
    [
      'changes act on a running broadcast at once',
      `${pushes}: adds and takes away within 2 s, and leaves the others alone`,
      `${pushes}: of a target that %s tells disconnected alone`,
      `${pushes}: of a URL connects anew, and so does leaving out the sound`,
    ],
    ['the URL is write-only', `${pushes}: no row, event, answer or line of the log holds any of a URL`],
    ['through hold pushes are kept', `${pushes}: is kept through hold, without a word`],
  ],
  'Ingest discovery': [
    [
      "without config, the deployment's own address; no key",
      'plugins/ingest.test.ts: has one entry of its own by default, and needs no key',
    ],
    ['nearest first; first=false is all, with base', 'plugins/ingest.test.ts: puts the nearest first: %s'],
    ['most specific CIDR', 'plugins/ingest.test.ts: %s holds %s by %i bits'],
    ['else distance by a MaxMind-format database, else the first', 'plugins/locations.test.ts: %s'],
    ['the address behind trusted proxies', 'kernel/peers.test.ts: from the proxy %s, with %j, is %s'],
    ['CORS *', 'plugins/ingest.test.ts: lets a browser ask first'],
  ],
  Playback: [
    [
      'who to watch where, without a key',
      'plugins/playback.test.ts: tells everyone where a stream is watched, and whether it is on',
    ],
    [
      'by session id',
      'plugins/playback.test.ts: knows the session that is on the air, and no longer when it is over',
    ],
    [
      '404 for what is not there',
      'plugins/playback.test.ts: hides a parent behind its own id, and a stream that was deleted',
    ],
    [
      'an asset is played over HLS by its playback id, where its segments are known',
      'plugins/asset-playback.test.ts: an asset names its playback when it is ready, and players are told of it first',
      'plugins/asset-playback.test.ts: an asset of which nobody knows the segments names none, and has none',
    ],
    ['segments immutable, playlists not', `${output}: headers and unknown files`],
    [
      'one broadcast is created, published, played and ended',
      'broadcast.test.ts: is created, published, listed, played, ended and told about',
    ],
  ],
  Assets: [
    [
      'PATCH name and userTags is 200; DELETE is 204',
      `${assets}: changes name and tags, and answers the asset; what was read can be sent back`,
      `${assets}: takes the asset at once, then its blobs`,
    ],
    [
      'waiting, then ready or failed; statusMessage says why',
      `${assets}: waits for its file, and shows what is known`,
      `${assets}: is ready with size, hashes, spec and a URL`,
      `${assets}: fails with a message, and has no file`,
    ],
    [
      'hash is over what downloadUrl serves; ranges, ETag, nosniff',
      'plugins/asset-video.test.ts: is the stored bytes, for everyone, with all that players and caches ask for',
      'plugins/asset-video.test.ts: is answered by ranges, and by what the client has',
    ],
    [
      'the list is that of streams: newest first, limit, cursor, order, filters, name, count',
      `${assets}: is newest first, in pages, by name, by filters, counted`,
    ],
    [
      'asset.created, updated, ready, failed, deleted, with payload {asset}',
      `${assets}: tell each step once, with the asset as the API shows it but for what other plugins tell, and nothing else`,
    ],
    [
      'playback info by asset id and playback id',
      `${assets}: tells of an asset by id and playback id, once its file is there`,
    ],
    [
      'request-upload is 200 {url, asset, task}; the URL is for one object and 12 h',
      `${uploads}: answers a URL, the waiting asset and its pending task`,
      `${uploads}: is for one object, as it was given`,
      `${uploads}: expires after 12 h; then task and asset fail`,
    ],
    [
      'PUT is 200 with the asset, 422 with the reason, 409 when one was accepted, 413 over the limit',
      `${uploads}: makes the asset ready, and completes the task`,
      `${uploads}: is refused with the reason, and another may be sent`,
      `${uploads}: is accepted once`,
      `${uploads}: that is too large is refused, whatever it says of its length`,
    ],
    [
      'an interrupted PUT may be repeated; chunks and any type, never parsed by it',
      `${uploads}: that breaks off may be repeated`,
      `${uploads}: is not read by its content type: %s`,
      'e2e/uploads.e2e.ts: a PUT that is cut off may be repeated, and leaves nothing',
    ],
    [
      'import is 201 {asset, task}; fetched after the answer; a wrong codec fails both as an upload',
      `${imports}: answers the waiting asset and its task, and fetches the file afterwards`,
      `${imports}: of what is no film fails as an upload of it does`,
      'plugins/import-transfers.test.ts: that is too large is not read when it says so, and no further when it does not',
      'e2e/imports.e2e.ts: is imported, over a redirect, and tells how far it is',
    ],
    [
      "an import's name is the URL's file name; secrets of the URL are shown nowhere",
      `${imports}: is named by the file, and shows neither user, password nor query anywhere`,
    ],
    [
      'export is 201 {task}; 404, 409 asset.not_ready, 422 by the field',
      `${exports}: answers 201 with a task of the asset`,
      `${exports}: is 404 for an asset of another account or none, and 409 for one without a file`,
      `${exports}: refuses %s, naming it`,
    ],
  ],
  Tasks: [
    [
      'phases; progress 0..1 that never goes back',
      `${task}: is pending, runs, and is completed with its output`,
      `${task}: has progress that never goes back, said by those alone who work at it`,
      `${served}: waits for its turn, runs, and is completed with what came of it`,
    ],
    ['secrets are never shown again, nor logged', `${served}: shows its secret to nobody but its work`],
    [
      'retry and cancel are 200 the task; in any other phase 409',
      `${uploads}: is cancelled: the asset fails, and nothing is taken until it is retried`,
      `${uploads}: is not retried or cancelled when it is completed, or its asset is gone`,
    ],
    [
      'output.upload and output.import: assetSpec, and two paths that exist',
      `${imports}: answers the waiting asset and its task, and fetches the file afterwards`,
      `${uploads}: makes the asset ready, and completes the task`,
    ],
    [
      'secrets given in params are never shown again, nor logged',
      `${exports}: shows, tells and logs no secret of what was asked`,
      'kernel/config.test.ts: knows the secrets of plugins',
    ],
    [
      'output.export.custom: status, etag?',
      `${exports}: is worked at: running, then completed with what came of it`,
      `${exportRuns}: keeps of a tag what can be one: %j`,
    ],
    [
      'output.export.ipfs: CID, URL and gateway URL of video and metadata, by both names',
      `${exports}: packs for IPFS beside the asset, which takes that with it`,
      'e2e/exports.e2e.ts: to IPFS, packed beside the asset: the CAR has the file under the CID that was answered',
    ],
    [
      'ERC-1155 metadata: objects merge, null deletes, everything else replaces',
      `${exportRuns}: adds the video, then what describes it, and answers all names of both`,
      `${exports}: is changed by %s`,
      `${exports}: leaves every other object as it is: %s`,
    ],
    [
      "plugins.tasks.ipfs: checked as a whole; the caller's credentials win",
      'kernel/config.test.ts: names each key of plugins.tasks.ipfs that is wrong: %j',
      `${exports}: pins with the credentials of the caller, else with those of the deployment`,
    ],
    ['newest first', `${uploads}: is listed newest first, by type and name, for its account alone`],
  ],
  'Event stream': [
    [
      "SSE with the account's own events",
      'plugins/events.test.ts: shows events of the account as they happen, in SSE form',
    ],
    [
      'replay after Last-Event-ID; an older one is 410',
      'plugins/events.test.ts: replays what came after an id and goes on without a gap or a repeat',
      "kernel/http.test.ts: hides whether another account's event exists",
    ],
    ['type and streamId', 'plugins/events.test.ts: shows only the type and stream asked for'],
    [
      'a comment every 5 s',
      'plugins/events.test.ts: says every 5 s that it is still there, and ends when it is told to',
    ],
  ],
  Deployment: [
    [
      'every key has a default and can be set in the environment',
      'kernel/config.test.ts: has a default for everything',
      'kernel/config.test.ts: lets one key win over its whole section',
    ],
    [
      'a bad config names every problem, exit 78',
      'kernel/config.test.ts: names every problem at once',
      `${start}: a bad configuration: exit 78, every problem named`,
    ],
    [
      'an unknown plugin is a bad config',
      'kernel/config.test.ts: loads the plugins that are on, and names one that does not exist',
    ],
    [
      'a port in use: exit 1, naming it',
      `${start}: a port in use: exit 1, naming it`,
      'kernel/http-limits.test.ts: a port that another Millrace has is refused by name, not shared with it',
      'media/in-process.test.ts: a port, host or certificate that cannot be used is named by its setting',
    ],
    [
      'a signal to npm start reaches the server',
      `${start}: %s to \`npm start\` reaches the server, which ends well`,
    ],
    [
      'SIGTERM: work is finished, exit 0',
      'broadcast.test.ts: is over at once when the server is told to stop, and the process ends with 0',
    ],
    [
      'an acknowledged write survives kill -9',
      'crash/acknowledged.test.ts: every acknowledged write is there after kill -9',
    ],
    [
      'metrics in Prometheus form, without ids',
      'kernel/metrics.test.ts: hold no key, no stream key and no id',
    ],
    [
      'a plugin that is off takes its fields and routes along',
      `${multistream}: is unknown, with the routes, while the plugin is off`,
      `${renditions}: are unknown while the plugin is off`,
    ],
  ],
};
