/** Written by scripts/client.ts from the OpenAPI document of the program. Never edit it by hand. */

export type Account = {
  readonly id: string;
  /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
  readonly name: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Who may watch. Absent: as the account or the deployment says. */
  readonly playbackPolicy?: {
    /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
    readonly type: 'public' | 'signed' | 'webhook';
    /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
    readonly allowedOrigins?: readonly string[];
    /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
    readonly allowNoOrigin?: boolean;
    /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
    readonly countries?: readonly string[];
    /** Blocks of addresses of the viewers. */
    readonly cidrs?: readonly string[];
    /** With `webhook`: the address that is asked. */
    readonly webhookUrl?: string;
    /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
    readonly onError?: 'refuse' | 'allow';
  };
  /** Limits of this account. What is absent is that of the deployment (`plugins.limits.account`); null: no limit. A change replaces all of them. */
  readonly limits?: {
    /** A whole number, or null for no limit. */
    readonly streams?: number | null;
    /** A whole number, or null for no limit. */
    readonly assets?: number | null;
    /** A whole number, or null for no limit. */
    readonly storedBytes?: number | null;
    /** A whole number, or null for no limit. */
    readonly broadcasts?: number | null;
    /** A whole number, or null for no limit. */
    readonly liveBytes?: number | null;
    /** A whole number, or null for no limit. */
    readonly encodingSeconds?: number | null;
    /** A whole number, or null for no limit. */
    readonly webhooks?: number | null;
    /** A whole number, or null for no limit. */
    readonly webhookAttempts?: number | null;
  } | null;
};

export type AccountUsage = {
  readonly streams: {
    readonly used: number;
    /** null: no limit. */
    readonly limit: number | null;
  };
  readonly assets: {
    readonly used: number;
    /** null: no limit. */
    readonly limit: number | null;
  };
  readonly storedBytes: {
    readonly used: number;
    /** null: no limit. */
    readonly limit: number | null;
  };
  readonly broadcasts: {
    readonly used: number;
    /** null: no limit. */
    readonly limit: number | null;
  };
  readonly liveBytes: {
    readonly used: number;
    /** null: no limit. */
    readonly limit: number | null;
  };
  readonly encodingSeconds: {
    readonly used: number;
    /** null: no limit. */
    readonly limit: number | null;
  };
  readonly webhooks: {
    readonly used: number;
    /** null: no limit. */
    readonly limit: number | null;
  };
  readonly webhookAttempts: {
    readonly used: number;
    /** null: no limit. */
    readonly limit: number | null;
  };
};

export type Alias = {
  /** The other id. */
  readonly alias: string;
  /** Playback id of the stream or asset that it stands for. */
  readonly playbackId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
};

export type ApiToken = {
  readonly id: string;
  readonly name: string;
  /** Account that it belongs to. */
  readonly userId: string;
  readonly access: {
    readonly rules?: ReadonlyArray<{
      readonly resources: readonly string[];
      readonly methods?: ReadonlyArray<'get' | 'post' | 'put' | 'patch' | 'delete'>;
    }>;
    readonly cors?: {
      readonly allowedOrigins: readonly string[];
    };
  };
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Epoch milliseconds. Absent: it does not expire. */
  readonly expiresAt?: number;
  /** The API key that made it. Absent for the bootstrap key. */
  readonly createdByKeyId?: string;
  /** Epoch milliseconds, to the hour. Absent: it was never used. */
  readonly lastUsedAt?: number;
};

export type Asset = {
  readonly id: string;
  /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
  readonly name: string;
  readonly status: 'waiting' | 'ready' | 'failed';
  /** Why it failed; when ready, why there is no HLS of it. */
  readonly statusMessage?: string;
  /** Account that it belongs to. */
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
  /** Names it to viewers. */
  readonly playbackId: string;
  /** Where it comes from. */
  readonly source: {
    readonly type: 'recording';
    /** The session that was recorded. */
    readonly sessionId: string;
  } | {
    readonly type: 'directUpload';
  } | {
    readonly type: 'url';
    /** From where it was imported, without user, password and query. */
    readonly url: string;
  } | {
    readonly type: 'transcode';
    /** The asset that it was made of, which may be gone since. */
    readonly inputAssetId: string;
  };
  /** Values of your own; names have up to 100 characters. */
  readonly userTags: Readonly<Record<string, string | number | boolean>>;
  readonly createdByTokenName?: string;
  /** When ready: bytes. */
  readonly size?: number;
  /** When ready: of the bytes at `downloadUrl`. */
  readonly hash?: ReadonlyArray<{
    readonly hash: string;
    readonly algorithm: 'md5' | 'sha256';
  }>;
  /** When ready. What is not known of a track is left out. */
  readonly videoSpec?: {
    /** `mp4`, or `mov` of a QuickTime film with these codecs. */
    readonly format: string;
    /** Seconds. */
    readonly duration: number;
    /** bit/s */
    readonly bitrate: number;
    readonly tracks: ReadonlyArray<{
      readonly type: 'video';
      readonly codec: string;
      /** Seconds. */
      readonly duration: number;
      /** bit/s */
      readonly bitrate: number;
      /** On average. */
      readonly fps?: number;
      readonly width?: number;
      readonly height?: number;
      readonly pixelFormat?: string;
    } | {
      readonly type: 'audio';
      readonly codec: string;
      /** Seconds. */
      readonly duration: number;
      /** bit/s */
      readonly bitrate: number;
      readonly channels?: number;
      readonly sampleRate?: number;
    }>;
  };
  /** When ready: the file, for everyone who knows the URL. */
  readonly downloadUrl?: string;
  /** When ready, of a film that was made an mp4: the file that came, for everyone who knows the URL. */
  readonly originalUrl?: string;
  /** When ready, of a file that can be played in pieces: HLS, for everyone who knows the URL. */
  readonly playbackUrl?: string;
  /** Who may watch. Absent: as the account or the deployment says. */
  readonly playbackPolicy?: {
    /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
    readonly type: 'public' | 'signed' | 'webhook';
    /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
    readonly allowedOrigins?: readonly string[];
    /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
    readonly allowNoOrigin?: boolean;
    /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
    readonly countries?: readonly string[];
    /** Blocks of addresses of the viewers. */
    readonly cidrs?: readonly string[];
    /** With `webhook`: the address that is asked. */
    readonly webhookUrl?: string;
    /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
    readonly onError?: 'refuse' | 'allow';
  };
  /** When ready and playable over HLS: a public JPEG; `?time=` is the moment in seconds. */
  readonly thumbnailUrl?: string;
  /** Likewise: WebVTT with pictures of the whole film on one sheet, for the seek bar of a player. */
  readonly storyboardUrl?: string;
};

export type AuditEntry = {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly actor: {
    /** Id of the API key. Absent for the bootstrap key. */
    readonly keyId?: string;
    /** Account of the API key. Absent where nobody was signed in. */
    readonly accountId?: string;
    /** IP address of the client. */
    readonly ip?: string;
  };
  /** Method and path of the call, as in this reference. */
  readonly action: string;
  /** Id of what it was done to. */
  readonly target?: string;
  readonly detail: {
    /** Why a sign-in failed. */
    readonly code?: string;
  };
};

export type CurrentApiToken = {
  /** Absent for the bootstrap key. */
  readonly id?: string;
  readonly name: string;
  /** Account that it belongs to. */
  readonly userId: string;
  /** It is a key of the admin account. */
  readonly isAdmin: boolean;
  readonly access: {
    readonly rules?: ReadonlyArray<{
      readonly resources: readonly string[];
      readonly methods?: ReadonlyArray<'get' | 'post' | 'put' | 'patch' | 'delete'>;
    }>;
    readonly cors?: {
      readonly allowedOrigins: readonly string[];
    };
  };
  /** Epoch milliseconds. Absent: it does not expire. */
  readonly expiresAt?: number;
};

export type HealthPoint = {
  /** Epoch milliseconds. */
  readonly time: number;
  /** bit/s */
  readonly ingestRate: number;
  /** Frames per second as they arrived. */
  readonly fps: number;
  /** Longest, seconds. */
  readonly keyFrameInterval: number;
  /** Greatest difference of delays, ms. */
  readonly jitter: number;
  /** Missing media, ms. */
  readonly dropped: number;
  /** Messages that came 2 s late or more. */
  readonly late: number;
  /** Different viewers of the last seconds. */
  readonly viewerCount: number;
  /** There was no issue. */
  readonly isHealthy: boolean;
  /** In plain words, what to do about it. */
  readonly issues: readonly string[];
};

export type Ingest = {
  readonly ingest: string;
  readonly playback: string;
  /** With `first=false`. */
  readonly base?: string;
  /** With `first=false`: of a node that has one. */
  readonly region?: string;
};

export type Jwks = {
  readonly keys: ReadonlyArray<{
    readonly kty: string;
    readonly kid: string;
    readonly alg: 'ES256' | 'RS256';
    readonly use: 'sig';
    readonly crv?: string;
    readonly x?: string;
    readonly y?: string;
    readonly n?: string;
    readonly e?: string;
  }>;
};

export type NewApiToken = {
  readonly id: string;
  readonly name: string;
  /** Account that it belongs to. */
  readonly userId: string;
  readonly access: {
    readonly rules?: ReadonlyArray<{
      readonly resources: readonly string[];
      readonly methods?: ReadonlyArray<'get' | 'post' | 'put' | 'patch' | 'delete'>;
    }>;
    readonly cors?: {
      readonly allowedOrigins: readonly string[];
    };
  };
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Epoch milliseconds. Absent: it does not expire. */
  readonly expiresAt?: number;
  /** The API key that made it. Absent for the bootstrap key. */
  readonly createdByKeyId?: string;
  /** Epoch milliseconds, to the hour. Absent: it was never used. */
  readonly lastUsedAt?: number;
  /** The secret. */
  readonly key: string;
};

export type NewSigningKey = {
  /** The `kid` of tokens. */
  readonly id: string;
  readonly name: string;
  readonly algorithm?: 'ES256' | 'RS256';
  /** PEM. */
  readonly publicKey?: string;
  /** Of keys of your own. Then there is no `algorithm` and no `publicKey`. */
  readonly jwksUrl?: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** PEM of PKCS 8. It is not stored, and never shown again. */
  readonly privateKey?: string;
};

export type Playback = {
  readonly type: 'live' | 'vod' | 'recording';
  readonly meta: {
    /** 1 while it is on the air. */
    readonly live: 1 | 0;
    /** Of a live stream: `upcoming` before its first broadcast, `live`, `interrupted` while the connection of its encoder is lost and may come back, `over`. */
    readonly phase?: 'upcoming' | 'live' | 'interrupted' | 'over';
    readonly recording?: {
      /** Id of the session: `GET /api/playback/{id}` says where its recording is watched. */
      readonly id: string;
      readonly status: 'waiting' | 'ready';
    };
    /** Best first. */
    readonly source: ReadonlyArray<{
      /** What it is, for people; players compare it too. */
      readonly hrn: string;
      /** Media type, with the `html5/` before it that players expect. */
      readonly type: string;
      readonly url: string;
    }>;
  };
};

export type PlaybackCheck = {
  readonly allowed: boolean;
  /** What refuses it, for programs. */
  readonly rule?: string;
  /** The same in one sentence. */
  readonly reason?: string;
};

export type PlaybackToken = {
  /** Goes behind `?token=` in URLs of this video. */
  readonly token: string;
  /** Epoch ms. */
  readonly expiresAt: number;
};

export type Profile = {
  /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
  readonly name: string;
  readonly width: number;
  readonly height: number;
  /** bit/s */
  readonly bitrate: number;
  /** 0 = the source's; never more than it has */
  readonly fps: number;
  readonly fpsDen?: number;
  /** Seconds, such as "2", or "intra". */
  readonly gop?: string;
  /** H264Baseline, H264Main, H264High or H264ConstrainedHigh. */
  readonly profile?: 'H264Baseline' | 'H264Main' | 'H264High' | 'H264ConstrainedHigh';
  readonly encoder?: 'H.264';
};

export type Reaction = {
  readonly id: string;
  /** Id of the plugin that reacts. */
  readonly plugin: string;
  /** `failing`: it is tried again by itself, and later events of its stream wait. `parked`: neither; resume or delete it. */
  readonly status: 'failing' | 'parked';
  readonly event: {
    readonly id: string;
    readonly type: string;
    /** Empty for events between plugins. */
    readonly account: string;
    /** Empty where it is of no stream. */
    readonly stream: string;
  };
  /** Epoch milliseconds. */
  readonly failedAt: number;
  /** Epoch milliseconds. */
  readonly parkedAt?: number;
  readonly tries: number;
  /** Of the last try. */
  readonly error: string;
};

export type RefusedPublish = {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Of the encoder. */
  readonly address: string;
  /** Of the URL. Of one that the server does not have, only the end: it may be a stream key. */
  readonly app: string;
  /** The last four characters of the stream key that was tried. Absent: there was none. */
  readonly key?: string;
  /** What the encoder calls itself. */
  readonly encoder?: string;
  /** Why it was refused. `unavailable`: the server could not check the key, and the encoder may try again. `not_allowed`: a plugin refuses it. */
  readonly reason: 'unknown_key' | 'missing_key' | 'unknown_app' | 'suspended' | 'busy' | 'not_allowed' | 'unavailable';
  /** What the encoder was told. */
  readonly message: string;
  /** It came from the address of the caller, or from the same /64 of IPv6. */
  readonly isYours: boolean;
};

export type SignInCode = {
  readonly code: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
};

export type SignedIn = {
  /** The secret of the new API key. */
  readonly key: string;
};

export type SigningKey = {
  /** The `kid` of tokens. */
  readonly id: string;
  readonly name: string;
  readonly algorithm?: 'ES256' | 'RS256';
  /** PEM. */
  readonly publicKey?: string;
  /** Of keys of your own. Then there is no `algorithm` and no `publicKey`. */
  readonly jwksUrl?: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
};

export type Stream = {
  readonly id: string;
  readonly kind: 'stream';
  /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
  readonly name: string;
  /** Sessions only: the stream. */
  readonly parentId?: string;
  /** Account that it belongs to. */
  readonly userId: string;
  /** Epoch seconds. */
  readonly createdAt: number;
  /** The same in milliseconds. */
  readonly createdAtMs: number;
  readonly createdByTokenName: string;
  /** Secret of the encoder; not of sessions. Only for API keys that may PATCH the stream. */
  readonly streamKey?: string;
  /** URL for the encoder, with the key: a secret. Shown where `streamKey` is. */
  readonly ingestUrl?: string;
  /** The same for encoders that want server and key separately. */
  readonly ingest?: {
    readonly url: string;
    readonly key: string;
  };
  /** Not of sessions. */
  readonly suspended?: boolean;
  /** Its id for viewers. */
  readonly playbackId: string;
  /** HLS. For a session while it is on the air, and again when its recording is ready. */
  readonly playbackUrl?: string;
  /** A page that plays the same. */
  readonly watchUrl?: string;
  /** Values of your own; names have up to 100 characters. */
  readonly userTags: Readonly<Record<string, string | number | boolean>>;
  readonly holdSeconds?: number;
  /** The playlist works. */
  readonly isActive: boolean;
  /** While active: the broadcast itself has no issue. Issues of targets that it is sent on to leave it true. */
  readonly isHealthy?: boolean;
  /** While active: bit/s. */
  readonly ingestRate?: number;
  /** While active: different viewers of the last seconds. */
  readonly viewerCount?: number;
  /** What is wrong, in plain words. */
  readonly issues: readonly string[];
  /** Last media, epoch milliseconds. */
  readonly lastSeen?: number;
  readonly sourceBytes: number;
  readonly sourceSegments: number;
  /** Seconds. */
  readonly sourceSegmentsDuration: number;
  /** Renditions beside the source. */
  readonly profiles: readonly Profile[];
  /** Where broadcasts are pushed to. */
  readonly multistream: {
    readonly targets: ReadonlyArray<{
      readonly profile: string;
      readonly id: string;
      readonly videoOnly?: boolean;
    }>;
  };
  /** Whether new sessions are recorded. */
  readonly record: boolean;
  /** Who may watch. Absent: as the account or the deployment says. */
  readonly playbackPolicy?: {
    /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
    readonly type: 'public' | 'signed' | 'webhook';
    /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
    readonly allowedOrigins?: readonly string[];
    /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
    readonly allowNoOrigin?: boolean;
    /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
    readonly countries?: readonly string[];
    /** Blocks of addresses of the viewers. */
    readonly cidrs?: readonly string[];
    /** With `webhook`: the address that is asked. */
    readonly webhookUrl?: string;
    /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
    readonly onError?: 'refuse' | 'allow';
  };
  /** Only while `record` is true: of a stream that of its newest recorded session. */
  readonly recordingStatus?: 'waiting' | 'ready';
  /** Of a session that is off the air: when its recording will be ready unless it comes back, epoch ms. */
  readonly recordingReadyBy?: number;
  /** HLS of the recording. Only when it is ready. */
  readonly recordingUrl?: string;
  /** The recording as one file. Only when it is ready. */
  readonly mp4Url?: string;
  /** While active: a current picture, a public JPEG. */
  readonly thumbnailUrl?: string;
};

export type System = {
  readonly version: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The node that answers. */
  readonly node: {
    readonly id: string;
    readonly roles: ReadonlyArray<'api' | 'media' | 'actors' | 'worker'>;
  };
  readonly nodes: ReadonlyArray<{
    readonly id: string;
    readonly roles: ReadonlyArray<'api' | 'media' | 'actors' | 'worker'>;
    /** Where other nodes reach it. */
    readonly url?: string;
    /** Where encoders reach it. */
    readonly ingestUrl?: string;
    readonly region?: string;
    /** Its heartbeats come. */
    readonly isAlive: boolean;
    /** Epoch milliseconds. */
    readonly seenAt: number;
  }>;
  readonly plugins: ReadonlyArray<{
    readonly id: string;
    /** Absent for one that is not loaded. */
    readonly summary?: string;
    /** `failed`: it could not be started, or needs a plugin that could not. `off`: the config switches it off. */
    readonly state: 'on' | 'failed' | 'off';
    /** How long its start took, ms. */
    readonly startMs?: number;
    /** Why it failed, as the end of a sentence. The log says more. */
    readonly error?: string;
  }>;
  readonly config: ReadonlyArray<{
    readonly key: string;
    /** As in the config. Absent: not set. A secret that is set is `••••`. */
    readonly value?: unknown;
    /** Where the value is from. */
    readonly source: 'default' | 'file' | 'environment';
    /** The value, or a part of it, is hidden. */
    readonly isSecret: boolean;
  }>;
  /** The disk of the data folder; absent when the system does not answer. */
  readonly disk?: {
    readonly dataDir: string;
    readonly freeBytes: number;
    readonly totalBytes: number;
  };
  /** Those of `/health/ready`. */
  readonly issues: readonly string[];
};

export type Target = {
  readonly id: string;
  readonly name: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly disabled?: true;
};

export type Task = {
  readonly id: string;
  readonly type: 'upload' | 'import' | 'export' | 'recording' | 'transcode';
  /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
  readonly name: string;
  /** Account that it belongs to. */
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly inputAssetId?: string;
  /** The asset that it creates. */
  readonly outputAssetId?: string;
  readonly createdByTokenName?: string;
  /** What was requested, under the name of the type. Secrets are left out. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** When completed: the result, under the name of the type. For an upload `assetSpec`, and the keys of its blobs: `videoFilePath`, `metadataFilePath`. */
  readonly output?: Readonly<Record<string, unknown>>;
  readonly status: {
    readonly phase: 'pending' | 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled';
    /** Epoch milliseconds. */
    readonly updatedAt: number;
    /** Starts again with a retry, and with each attempt of the server. */
    readonly progress: number;
    /** Why it failed; while it waits for another attempt, why the last one ended. */
    readonly errorMessage?: string;
    /** How often a client has retried it. */
    readonly retries?: number;
  };
};

export type TimelineEntry = {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly kind: 'state';
  /** `connecting`: the first connection; `live`: the playlist works; `idle`: it no longer works. */
  readonly state: 'connecting' | 'live' | 'idle';
  /** Of the event that says so. */
  readonly id?: string;
  readonly event?: string;
} | {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly kind: 'event';
  readonly id: string;
  readonly event: string;
  /** As in the event; absent when the event has more than 8 KiB. */
  readonly payload?: unknown;
} | {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly kind: 'health';
  readonly id: string;
  readonly event: string;
  readonly isHealthy: boolean;
  readonly issues: readonly string[];
} | {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly kind: 'delivery';
  /** Of the entry in the delivery log of the webhook. */
  readonly id: string;
  readonly webhookId: string;
  readonly event: string;
  /** Id of the event. */
  readonly deliveryId: string;
  /** 1 for the first; 0 for test and resend. */
  readonly attempt: number;
  readonly success: boolean;
  /** Milliseconds. */
  readonly duration: number;
  /** Of the answer. */
  readonly status?: number;
  /** Why there is no answer. */
  readonly error?: string;
};

export type Webhook = {
  readonly id: string;
  readonly kind: 'webhook';
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  /** Only events of this stream are sent. */
  readonly streamId?: string;
  /** Form of its requests, if a plugin created it for clients of another API. Absent: that of this API. */
  readonly format?: string;
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** From the newest attempts in the delivery log. */
  readonly status: {
    /** Epoch milliseconds. */
    readonly lastTriggeredAt?: number;
    readonly lastFailure?: {
      /** Epoch milliseconds. */
      readonly timestamp: number;
      readonly event: string;
      /** Why there was no answer. */
      readonly error?: string;
      readonly statusCode?: number;
      /** Its first 1 KiB. */
      readonly response?: string;
    };
  };
};

export type WebhookLogEntry = {
  readonly id: string;
  readonly webhookId: string;
  readonly event: string;
  /** Id of the event: the same in all attempts. */
  readonly deliveryId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Milliseconds. */
  readonly duration: number;
  /** 1 for the first; 0 for test and resend. */
  readonly attempt: number;
  readonly success: boolean;
  /** Epoch milliseconds. */
  readonly nextAttemptAt?: number;
  readonly request: {
    readonly url: string;
    /** Without the signature. */
    readonly headers: {
      readonly 'content-type'?: string;
      readonly 'user-agent'?: string;
      readonly 'webhook-id'?: string;
      /** Seconds. */
      readonly 'webhook-timestamp'?: string;
    };
    /** Absent when the log no longer has it. */
    readonly body?: string;
    /** The log has only the beginning. */
    readonly isCut?: true;
  };
  readonly response?: {
    readonly status: number;
    /** Its first 1 KiB. */
    readonly body: string;
  };
  /** Why there is no response. */
  readonly error?: string;
};

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** On top of those that the client sends. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** For a POST whose repeat is recognised. */
export interface OnceOptions extends CallOptions {
  /** Default: a new one for each call, so that the call can be tried again. */
  readonly idempotencyKey?: string;
}

/** The calls of the API that answer with JSON. Each rejects with a `MillraceError` when the server refuses. */
export interface Api {
  /** 200 while the process runs. `GET /health/live` */
  getLiveness(call?: CallOptions): Promise<{
    readonly status: 'live';
  }>;
  /** 200 when the server is ready, with `issues` for operators; 503 while an engine does not answer, and while the server is stopping. `GET /health/ready` */
  getReadiness(call?: CallOptions): Promise<{
    readonly status: 'ready';
    /** Problems for operators: disks that are nearly full, plugins that are off or fail, reactions that hang, fail or are parked. */
    readonly issues?: readonly string[];
  }>;
  /** Lists accounts; only for keys of the admin account. Parameters as for streams. `GET /api/account` */
  listAccounts(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly Account[]>;
  /** Creates an account; only for keys of the admin account. 201 with the account. `POST /api/account` */
  createAccount(call: {
      readonly body: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name: string;
        readonly playbackPolicy?: {
          /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
          readonly type: 'public' | 'signed' | 'webhook';
          /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
          readonly allowedOrigins?: readonly string[];
          /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
          readonly allowNoOrigin?: boolean;
          /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
          readonly countries?: readonly string[];
          /** Blocks of addresses of the viewers. */
          readonly cidrs?: readonly string[];
          /** With `webhook`: the address that is asked. */
          readonly webhookUrl?: string;
          /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
          readonly onError?: 'refuse' | 'allow';
          /** With `webhook`: signs the requests as those of webhooks are signed. Never shown. It belongs to the URL: all policies of the account that name the URL use it. A change without it keeps it. */
          readonly webhookSecret?: string;
        } | null;
        /** Limits of this account. What is absent is that of the deployment (`plugins.limits.account`); null: no limit. A change replaces all of them. */
        readonly limits?: {
          /** A whole number, or null for no limit. */
          readonly streams?: number | null;
          /** A whole number, or null for no limit. */
          readonly assets?: number | null;
          /** A whole number, or null for no limit. */
          readonly storedBytes?: number | null;
          /** A whole number, or null for no limit. */
          readonly broadcasts?: number | null;
          /** A whole number, or null for no limit. */
          readonly liveBytes?: number | null;
          /** A whole number, or null for no limit. */
          readonly encodingSeconds?: number | null;
          /** A whole number, or null for no limit. */
          readonly webhooks?: number | null;
          /** A whole number, or null for no limit. */
          readonly webhookAttempts?: number | null;
        } | null;
      };
    } & OnceOptions): Promise<Account>;
  /** One account: that of the API key, or any for keys of the admin account. `GET /api/account/{id}` */
  getAccount(call: {
      readonly id: string;
    } & CallOptions): Promise<Account>;
  /** Changes the fields that the body names; only for keys of the admin account. A field that is null has the default of the deployment again. 204. `PATCH /api/account/{id}` */
  changeAccount(call: {
      readonly id: string;
      readonly body?: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name?: string;
        readonly playbackPolicy?: {
          /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
          readonly type: 'public' | 'signed' | 'webhook';
          /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
          readonly allowedOrigins?: readonly string[];
          /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
          readonly allowNoOrigin?: boolean;
          /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
          readonly countries?: readonly string[];
          /** Blocks of addresses of the viewers. */
          readonly cidrs?: readonly string[];
          /** With `webhook`: the address that is asked. */
          readonly webhookUrl?: string;
          /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
          readonly onError?: 'refuse' | 'allow';
          /** With `webhook`: signs the requests as those of webhooks are signed. Never shown. It belongs to the URL: all policies of the account that name the URL use it. A change without it keeps it. */
          readonly webhookSecret?: string;
        } | null;
        /** Limits of this account. What is absent is that of the deployment (`plugins.limits.account`); null: no limit. A change replaces all of them. */
        readonly limits?: {
          /** A whole number, or null for no limit. */
          readonly streams?: number | null;
          /** A whole number, or null for no limit. */
          readonly assets?: number | null;
          /** A whole number, or null for no limit. */
          readonly storedBytes?: number | null;
          /** A whole number, or null for no limit. */
          readonly broadcasts?: number | null;
          /** A whole number, or null for no limit. */
          readonly liveBytes?: number | null;
          /** A whole number, or null for no limit. */
          readonly encodingSeconds?: number | null;
          /** A whole number, or null for no limit. */
          readonly webhooks?: number | null;
          /** A whole number, or null for no limit. */
          readonly webhookAttempts?: number | null;
        } | null;
      };
    } & CallOptions): Promise<undefined>;
  /** The API key of the request, and what it may do. Access rules do not limit this call. `GET /api/api-token/current` */
  getCurrentApiToken(call?: CallOptions): Promise<CurrentApiToken>;
  /** Creates an API key. 201 with the secret `key`, which is never shown again. `POST /api/api-token` */
  createApiToken(call?: {
      readonly body?: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name?: string;
        readonly access?: {
          readonly rules?: ReadonlyArray<{
            readonly resources: readonly string[];
            readonly methods?: ReadonlyArray<'get' | 'post' | 'put' | 'patch' | 'delete'>;
          }>;
          readonly cors?: {
            readonly allowedOrigins: readonly string[];
          };
        };
        /** Epoch milliseconds. From then on the key does not work. Default: that of the key which makes it, which is also the latest. */
        readonly expiresAt?: number;
        /** Account of the new key; only for keys of the admin account. */
        readonly accountId?: string;
      };
    } & OnceOptions): Promise<NewApiToken>;
  /** Lists API keys without their secrets; parameters as for streams. `GET /api/api-token` */
  listApiTokens(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'expiresAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'lastUsedAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'createdByKeyId';
          readonly value: string;
        } | {
          readonly id: 'userId';
          readonly value: string;
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly ApiToken[]>;
  /** One API key, without its secret. `GET /api/api-token/{id}` */
  getApiToken(call: {
      readonly id: string;
    } & CallOptions): Promise<ApiToken>;
  /** Deletes an API key: it stops working at once, and event streams opened with it end. 204. `DELETE /api/api-token/{id}` */
  deleteApiToken(call: {
      readonly id: string;
      readonly query?: {
        /** Also all keys that it made, and those that they made. */
        readonly cascade?: boolean;
      };
    } & CallOptions): Promise<undefined>;
  /** Creates a code that signs in once, within 5 minutes, with the access of the key of this request. 201. `POST /api/sign-in-code` */
  createSignInCode(call?: {
      readonly body?: {

      };
    } & OnceOptions): Promise<SignInCode>;
  /** Takes a sign-in code and answers a new API key of its account, named "Dashboard". The code then works no more. `POST /api/sign-in` */
  signIn(call: {
      readonly body: {
        readonly code: string;
      };
    } & CallOptions): Promise<SignedIn>;
  /** Lists streams and sessions, newest first. `GET /api/stream` */
  listStreams(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'isActive';
          readonly value: boolean;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'parentId';
          readonly value: string;
        } | {
          readonly id: 'playbackId';
          readonly value: string;
        } | {
          readonly id: 'suspended';
          readonly value: boolean;
        } | {
          readonly id: 'userId';
          readonly value: string;
        } | {
          readonly id: 'record';
          readonly value: boolean;
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
        /** No sessions. */
        readonly streamsonly?: boolean;
        /** Only sessions. */
        readonly sessionsonly?: boolean;
        /** Only what is on the air. */
        readonly active?: boolean;
      };
    } & CallOptions): Promise<readonly Stream[]>;
  /** Creates a stream. 201 with the stream. `POST /api/stream` */
  createStream(call: {
      readonly body: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name: string;
        /** While true, there is no broadcast: a running one ends, and new ones are refused. */
        readonly suspended?: boolean;
        /** How long a broadcast stays on the air after its connection broke, instead of `plugins.streams.hold`. */
        readonly holdSeconds?: number;
        /** Values of your own; names have up to 100 characters. */
        readonly userTags?: Readonly<Record<string, string | number | boolean>>;
        /** Renditions beside the source. */
        readonly profiles?: readonly Profile[];
        /** Where broadcasts are pushed to. Each target has either `id`, or `spec` to create one. Without `targets` there are none. */
        readonly multistream?: {
          readonly targets?: ReadonlyArray<{
            /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
            readonly profile: string;
            readonly id?: string;
            readonly spec?: {
              /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
              readonly name?: string;
              /** An rtmp://, rtmps:// or srt:// URL of at most 2000 characters. */
              readonly url: string;
            };
            readonly videoOnly?: boolean;
          }>;
        };
        /** Whether new sessions are recorded. */
        readonly record?: boolean;
        readonly playbackPolicy?: {
          /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
          readonly type: 'public' | 'signed' | 'webhook';
          /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
          readonly allowedOrigins?: readonly string[];
          /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
          readonly allowNoOrigin?: boolean;
          /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
          readonly countries?: readonly string[];
          /** Blocks of addresses of the viewers. */
          readonly cidrs?: readonly string[];
          /** With `webhook`: the address that is asked. */
          readonly webhookUrl?: string;
          /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
          readonly onError?: 'refuse' | 'allow';
          /** With `webhook`: signs the requests as those of webhooks are signed. Never shown. It belongs to the URL: all policies of the account that name the URL use it. A change without it keeps it. */
          readonly webhookSecret?: string;
        } | null;
      };
    } & OnceOptions): Promise<Stream>;
  /** Lists the sessions of a stream, newest first. `GET /api/stream/{id}/sessions` */
  listStreamSessions(call: {
      readonly id: string;
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'isActive';
          readonly value: boolean;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'parentId';
          readonly value: string;
        } | {
          readonly id: 'playbackId';
          readonly value: string;
        } | {
          readonly id: 'suspended';
          readonly value: boolean;
        } | {
          readonly id: 'userId';
          readonly value: string;
        } | {
          readonly id: 'record';
          readonly value: boolean;
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
        /** 1: only recorded sessions, 0: only others. */
        readonly record?: boolean;
      };
    } & CallOptions): Promise<readonly Stream[]>;
  /** Lists the sessions of all streams, newest first. `GET /api/session` */
  listSessions(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'isActive';
          readonly value: boolean;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'parentId';
          readonly value: string;
        } | {
          readonly id: 'playbackId';
          readonly value: string;
        } | {
          readonly id: 'suspended';
          readonly value: boolean;
        } | {
          readonly id: 'userId';
          readonly value: string;
        } | {
          readonly id: 'record';
          readonly value: boolean;
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly Stream[]>;
  /** One session. `GET /api/session/{id}` */
  getSession(call: {
      readonly id: string;
    } & CallOptions): Promise<Stream>;
  /** What happened in a session, oldest first: states, events, changes of health, and webhook deliveries. Events are kept for 24 h. `GET /api/session/{id}/timeline` */
  getSessionTimeline(call: {
      readonly id: string;
      readonly query?: {
        /** Entries of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same session. */
        readonly cursor?: string;
      };
    } & CallOptions): Promise<readonly TimelineEntry[]>;
  /** The last refused publishes, newest first: those from the address of the caller, and all of them for keys of the admin account. `GET /api/ingest/refused` */
  listRefusedPublishes(call?: CallOptions): Promise<readonly RefusedPublish[]>;
  /** One stream or session. `GET /api/stream/{id}` */
  getStream(call: {
      readonly id: string;
    } & CallOptions): Promise<Stream>;
  /** Changes the fields that the body names. 204. `PATCH /api/stream/{id}` */
  changeStream(call: {
      readonly id: string;
      readonly body?: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name?: string;
        /** While true, there is no broadcast: a running one ends, and new ones are refused. */
        readonly suspended?: boolean;
        /** How long a broadcast stays on the air after its connection broke, instead of `plugins.streams.hold`. */
        readonly holdSeconds?: number;
        /** Values of your own; names have up to 100 characters. */
        readonly userTags?: Readonly<Record<string, string | number | boolean>>;
        /** Renditions beside the source. */
        readonly profiles?: readonly Profile[];
        /** Where broadcasts are pushed to. Each target has either `id`, or `spec` to create one. Without `targets` there are none. */
        readonly multistream?: {
          readonly targets?: ReadonlyArray<{
            /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
            readonly profile: string;
            readonly id?: string;
            readonly spec?: {
              /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
              readonly name?: string;
              /** An rtmp://, rtmps:// or srt:// URL of at most 2000 characters. */
              readonly url: string;
            };
            readonly videoOnly?: boolean;
          }>;
        };
        /** Whether new sessions are recorded. */
        readonly record?: boolean;
        readonly playbackPolicy?: {
          /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
          readonly type: 'public' | 'signed' | 'webhook';
          /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
          readonly allowedOrigins?: readonly string[];
          /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
          readonly allowNoOrigin?: boolean;
          /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
          readonly countries?: readonly string[];
          /** Blocks of addresses of the viewers. */
          readonly cidrs?: readonly string[];
          /** With `webhook`: the address that is asked. */
          readonly webhookUrl?: string;
          /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
          readonly onError?: 'refuse' | 'allow';
          /** With `webhook`: signs the requests as those of webhooks are signed. Never shown. It belongs to the URL: all policies of the account that name the URL use it. A change without it keeps it. */
          readonly webhookSecret?: string;
        } | null;
      };
    } & CallOptions): Promise<undefined>;
  /** Deletes a stream and ends its broadcast. 204. `DELETE /api/stream/{id}` */
  deleteStream(call: {
      readonly id: string;
    } & CallOptions): Promise<undefined>;
  /** Ends the broadcast and the session. 204, also when nothing is being broadcast. `DELETE /api/stream/{id}/terminate` */
  terminateStream(call: {
      readonly id: string;
    } & CallOptions): Promise<undefined>;
  /** Gives the stream a new key; the old one stops working at once. 200 with the stream. `POST /api/stream/{id}/rotate-key` */
  rotateStreamKey(call: {
      readonly id: string;
      readonly body?: {
        /** A key that encoders have already, such as one of another platform. It needs 16 letters or digits, 8 of them different, and no other stream may have it. Default: a new random key. */
        readonly streamKey?: string;
      };
    } & OnceOptions): Promise<Stream>;
  /** Health of a broadcast over the last hour, a point for each 5 s; of a parent its newest session. `GET /api/stream/{id}/health` */
  getStreamHealth(call: {
      readonly id: string;
    } & CallOptions): Promise<readonly HealthPoint[]>;
  /** Creates a multistream target. 201 with the target; its URL is never shown again. `POST /api/multistream/target` */
  createTarget(call: {
      readonly body: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name?: string;
        /** An rtmp://, rtmps:// or srt:// URL of at most 2000 characters. */
        readonly url: string;
        readonly disabled?: boolean;
      };
    } & OnceOptions): Promise<Target>;
  /** Lists multistream targets; parameters as for streams. `GET /api/multistream/target` */
  listTargets(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'disabled';
          readonly value: boolean;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly Target[]>;
  /** One multistream target. `GET /api/multistream/target/{id}` */
  getTarget(call: {
      readonly id: string;
    } & CallOptions): Promise<Target>;
  /** Changes the fields of a multistream target that the body names. 204. `PATCH /api/multistream/target/{id}` */
  changeTarget(call: {
      readonly id: string;
      readonly body?: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name?: string;
        /** An rtmp://, rtmps:// or srt:// URL of at most 2000 characters. */
        readonly url?: string;
        readonly disabled?: boolean;
      };
    } & CallOptions): Promise<undefined>;
  /** Deletes a multistream target. 204. `DELETE /api/multistream/target/{id}` */
  deleteTarget(call: {
      readonly id: string;
    } & CallOptions): Promise<undefined>;
  /** Lists tasks, newest first; parameters as for streams. `GET /api/task` */
  listTasks(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'type';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'phase';
          readonly value: string;
        } | {
          readonly id: 'userId';
          readonly value: string;
        } | {
          readonly id: 'inputAssetId';
          readonly value: string;
        } | {
          readonly id: 'outputAssetId';
          readonly value: string;
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly Task[]>;
  /** One task: its progress and its result. `GET /api/task/{id}` */
  getTask(call: {
      readonly id: string;
    } & CallOptions): Promise<Task>;
  /** Retries a failed or cancelled task. For an upload, send the file again to the URLs in `params.upload`. `POST /api/task/{id}/retry` */
  retryTask(call: {
      readonly id: string;
    } & OnceOptions): Promise<Task>;
  /** Cancels a task that has not ended. The asset that waits for it fails. `POST /api/task/{id}/cancel` */
  cancelTask(call: {
      readonly id: string;
    } & OnceOptions): Promise<Task>;
  /** Creates an asset and returns URLs for the upload of its file, by PUT or tus. They are valid for 12 h and need no key. `POST /api/asset/request-upload` */
  requestUpload(call: {
      readonly body: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name: string;
        /** Values of your own; names have up to 100 characters. */
        readonly userTags?: Readonly<Record<string, string | number | boolean>>;
        readonly playbackPolicy?: {
          /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
          readonly type: 'public' | 'signed' | 'webhook';
          /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
          readonly allowedOrigins?: readonly string[];
          /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
          readonly allowNoOrigin?: boolean;
          /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
          readonly countries?: readonly string[];
          /** Blocks of addresses of the viewers. */
          readonly cidrs?: readonly string[];
          /** With `webhook`: the address that is asked. */
          readonly webhookUrl?: string;
          /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
          readonly onError?: 'refuse' | 'allow';
          /** With `webhook`: signs the requests as those of webhooks are signed. Never shown. It belongs to the URL: all policies of the account that name the URL use it. A change without it keeps it. */
          readonly webhookSecret?: string;
        } | null;
      };
    } & OnceOptions): Promise<{
    /** Takes a PUT of the file, without a key, from pages of every origin. */
    readonly url: string;
    /** The same for tus 1.0.0 clients, which can go on where they were cut off. */
    readonly tusEndpoint: string;
    readonly asset: Asset;
    readonly task: Task;
  }>;
  /** Creates an asset whose file the server fetches from a URL. 201 with the asset and the task of the import; the task shows the progress. `POST /api/asset/import` */
  importAsset(call: {
      readonly body: {
        /** http or https. A user and password in it are sent as Basic authentication. They, signatures and tokens are never shown. */
        readonly url: string;
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name?: string;
        /** Values of your own; names have up to 100 characters. */
        readonly userTags?: Readonly<Record<string, string | number | boolean>>;
        readonly playbackPolicy?: {
          /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
          readonly type: 'public' | 'signed' | 'webhook';
          /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
          readonly allowedOrigins?: readonly string[];
          /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
          readonly allowNoOrigin?: boolean;
          /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
          readonly countries?: readonly string[];
          /** Blocks of addresses of the viewers. */
          readonly cidrs?: readonly string[];
          /** With `webhook`: the address that is asked. */
          readonly webhookUrl?: string;
          /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
          readonly onError?: 'refuse' | 'allow';
          /** With `webhook`: signs the requests as those of webhooks are signed. Never shown. It belongs to the URL: all policies of the account that name the URL use it. A change without it keeps it. */
          readonly webhookSecret?: string;
        } | null;
      };
    } & OnceOptions): Promise<{
    readonly asset: Asset;
    readonly task: Task;
  }>;
  /** Lists assets, newest first; parameters as for streams. `GET /api/asset` */
  listAssets(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'status';
          readonly value: string;
        } | {
          readonly id: 'size';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'updatedAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'playbackId';
          readonly value: string;
        } | {
          readonly id: 'userId';
          readonly value: string;
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly Asset[]>;
  /** One asset. `GET /api/asset/{id}` */
  getAsset(call: {
      readonly id: string;
    } & CallOptions): Promise<Asset>;
  /** Changes the fields that the body names. 200 with the asset. `PATCH /api/asset/{id}` */
  changeAsset(call: {
      readonly id: string;
      readonly body?: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name?: string;
        /** Values of your own; names have up to 100 characters. */
        readonly userTags?: Readonly<Record<string, string | number | boolean>>;
        readonly playbackPolicy?: {
          /** `public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked. */
          readonly type: 'public' | 'signed' | 'webhook';
          /** Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may. */
          readonly allowedOrigins?: readonly string[];
          /** With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false. */
          readonly allowNoOrigin?: boolean;
          /** Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`. */
          readonly countries?: readonly string[];
          /** Blocks of addresses of the viewers. */
          readonly cidrs?: readonly string[];
          /** With `webhook`: the address that is asked. */
          readonly webhookUrl?: string;
          /** With `webhook`: what holds while your server does not answer. Default `refuse`. */
          readonly onError?: 'refuse' | 'allow';
          /** With `webhook`: signs the requests as those of webhooks are signed. Never shown. It belongs to the URL: all policies of the account that name the URL use it. A change without it keeps it. */
          readonly webhookSecret?: string;
        } | null;
      };
    } & CallOptions): Promise<Asset>;
  /** Deletes an asset and its file; if it is a recording, also the recording. 204. `DELETE /api/asset/{id}` */
  deleteAsset(call: {
      readonly id: string;
    } & CallOptions): Promise<undefined>;
  /** Transcodes an asset with a profile into a new asset. Answers 201 with the new asset and the task that makes it; the task shows the progress. `POST /api/asset/{id}/transcode` */
  transcodeAsset(call: {
      readonly id: string;
      readonly body: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name?: string;
        readonly profile: Profile;
      };
    } & OnceOptions): Promise<{
    readonly asset: Asset;
    readonly task: Task;
  }>;
  /** Exports the file of an asset to IPFS or to a URL. 201 with the task, which shows progress and result. `POST /api/asset/{id}/export` */
  exportAsset(call: {
      readonly id: string;
      readonly body?: {
        /** To IPFS. May be empty. */
        readonly ipfs?: {
          /** Your account at the pinning service: either `jwt`, or `apiKey` and `apiSecret`. Default: what the deployment has set. Never shown again. */
          readonly pinning?: {
            /** Token of the account. */
            readonly jwt?: string;
            /** With apiSecret. */
            readonly apiKey?: string;
            /** With apiKey. */
            readonly apiSecret?: string;
          };
          /** Changes the ERC-1155 metadata as a JSON Merge Patch does: objects merge, `null` deletes, everything else replaces. */
          readonly erc1155Metadata?: Readonly<Record<string, unknown>>;
          /** The older name of `erc1155Metadata`; one of both. */
          readonly nftMetadata?: Readonly<Record<string, unknown>>;
        };
        /** To a URL of your own. */
        readonly custom?: {
          /** Where the file goes, such as a signed URL. What is behind `?` is never shown again. */
          readonly url: string;
          /** `PUT` (default), `POST` or `PATCH`, in any case. */
          readonly method?: string;
          /** Sent with the file. Their values are never shown again. `Content-Type` is `video/mp4` unless it is among them; those that say where the request goes and where it ends are ours. */
          readonly headers?: Readonly<Record<string, string>>;
        };
      };
    } & OnceOptions): Promise<{
    readonly task: Task;
  }>;
  /** Sets whether new sessions are recorded. 204. `PATCH /api/stream/{id}/record` */
  setRecord(call: {
      readonly id: string;
      readonly body: {
        readonly record: boolean;
      };
    } & CallOptions): Promise<undefined>;
  /** Where a playback id, session or asset can be watched. No key is needed. `GET /api/playback/{id}` */
  getPlayback(call: {
      readonly id: string;
    } & CallOptions): Promise<Playback>;
  /** Lets a stream or asset be played by another id too, such as the one that it had on another platform. 201 with the alias, also if it exists already. `POST /api/alias` */
  createAlias(call: {
      readonly body: {
        /** The other id. */
        readonly alias: string;
        /** Playback id of the stream or asset that it stands for. */
        readonly playbackId: string;
      };
    } & OnceOptions): Promise<Alias>;
  /** Lists aliases; parameters as for streams. `GET /api/alias` */
  listAliases(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'alias';
          readonly value: string;
        } | {
          readonly id: 'playbackId';
          readonly value: string;
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly Alias[]>;
  /** One alias, by the alias itself. `GET /api/alias/{id}` */
  getAlias(call: {
      readonly id: string;
    } & CallOptions): Promise<Alias>;
  /** Deletes an alias. It may be played for 10 s more. 204. `DELETE /api/alias/{id}` */
  deleteAlias(call: {
      readonly id: string;
    } & CallOptions): Promise<undefined>;
  /** Ends playback of a viewer, or of everybody who was let in so far, within 5 s. 204. `POST /api/playback/{id}/revoke` */
  revokePlayback(call: {
      readonly id: string;
      readonly body?: {
        /** The `viewer` of its token. Absent: everybody who was let in so far. */
        readonly viewer?: string;
      };
    } & OnceOptions): Promise<undefined>;
  /** Says whether a viewer with this token, origin and address may watch, and if not, what refuses it. The webhook of a policy is asked. `POST /api/playback/{id}/check` */
  checkPlayback(call: {
      readonly id: string;
      readonly body?: {
        /** As the player sends it. */
        readonly token?: string;
        /** Origin of the page that plays. */
        readonly origin?: string;
        /** Address of the viewer. */
        readonly ip?: string;
      };
    } & OnceOptions): Promise<PlaybackCheck>;
  /** A token with which the owner can watch a video of its own for an hour, whatever the policy asks of viewers, but only where its origins, countries and blocks allow. `GET /api/playback/{id}/token` */
  getPlaybackToken(call: {
      readonly id: string;
    } & CallOptions): Promise<PlaybackToken>;
  /** Creates a signing key. 201 with the `privateKey`, which is never shown again. With `jwksUrl`, keys of your own are trusted. `POST /api/signing-key` */
  createSigningKey(call?: {
      readonly body?: {
        /** 1 to 500 characters, without NUL and halves of surrogate pairs. */
        readonly name?: string;
        /** Of the pair that is made. Default `ES256`. */
        readonly algorithm?: 'ES256' | 'RS256';
        /** Instead of a new pair: the URL of a JWKS document with public keys of your own (P-256 and RSA). It is read when a token names a key of it, every 5 min, and at most every 30 s for a `kid` that it did not have. */
        readonly jwksUrl?: string;
      };
    } & OnceOptions): Promise<NewSigningKey>;
  /** Lists signing keys without their private halves; parameters as for streams. `GET /api/signing-key` */
  listSigningKeys(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'algorithm';
          readonly value: string;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly SigningKey[]>;
  /** One signing key, without its private half. `GET /api/signing-key/{id}` */
  getSigningKey(call: {
      readonly id: string;
    } & CallOptions): Promise<SigningKey>;
  /** Deletes a signing key. Its tokens, and players that they let in, are refused within 5 s. 204. `DELETE /api/signing-key/{id}` */
  deleteSigningKey(call: {
      readonly id: string;
    } & CallOptions): Promise<undefined>;
  /** URLs for encoders and players: the nearest pair, or all with `first=false`. No key is needed. `GET /api/ingest` */
  getIngest(call?: {
      readonly query?: {
        /** Only the nearest, which is the default; `false`: all, nearest first. */
        readonly first?: boolean;
      };
    } & CallOptions): Promise<readonly Ingest[]>;
  /** The account's events of the last 24 h, newest first. `GET /api/events/log` */
  listEvents(call?: {
      readonly query?: {
        /** Only events of this type. */
        readonly type?: string;
        /** Only events of this stream. */
        readonly streamId?: string;
        /** Events of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same type and stream. */
        readonly cursor?: string;
      };
    } & CallOptions): Promise<ReadonlyArray<{
    /** As in the event stream. */
    readonly id: string;
    /** Epoch milliseconds. */
    readonly createdAt: number;
    /** Epoch milliseconds. */
    readonly timestamp: number;
    readonly event: string;
    /** The stream as it was then, if the event is of one. */
    readonly stream?: unknown;
    /** What the event is about; docs/api.md. */
    readonly payload?: unknown;
  }>>;
  /** Lists delivery attempts, newest first; parameters as for streams. `GET /api/webhook/{id}/log` */
  listWebhookLog(call: {
      readonly id: string;
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'event';
          readonly value: string;
        } | {
          readonly id: 'deliveryId';
          readonly value: string;
        } | {
          readonly id: 'success';
          readonly value: boolean;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'duration';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'attempt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly WebhookLogEntry[]>;
  /** One attempt: the request, and the first 1 KiB of the answer. `GET /api/webhook/{id}/log/{logId}` */
  getWebhookLogEntry(call: {
      readonly id: string;
      readonly logId: string;
    } & CallOptions): Promise<WebhookLogEntry>;
  /** Sends a delivery again, with the same id, to the current address. 200 with the new log entry. `POST /api/webhook/{id}/log/{logId}/resend` */
  resendWebhookDelivery(call: {
      readonly id: string;
      readonly logId: string;
    } & OnceOptions): Promise<WebhookLogEntry>;
  /** Sends an example of an event now. 200 with the log entry, whatever the endpoint answered. `POST /api/webhook/{id}/test` */
  testWebhook(call: {
      readonly id: string;
      readonly body: {
        readonly event: 'stream.started' | 'stream.idle' | 'stream.health' | 'multistream.connected' | 'multistream.disconnected' | 'multistream.error' | 'task.spawned' | 'task.updated' | 'task.completed' | 'task.failed' | 'asset.created' | 'asset.updated' | 'asset.ready' | 'asset.failed' | 'asset.deleted' | 'recording.started' | 'recording.waiting' | 'recording.ready' | 'playback.refused' | 'plugin.reaction_parked';
      };
    } & OnceOptions): Promise<WebhookLogEntry>;
  /** Creates a webhook. 201 with the webhook; its secret is never shown. `POST /api/webhook` */
  createWebhook(call: {
      readonly body: {
        readonly name: string;
        /** An http:// or https:// URL of at most 2000 characters, without control characters. */
        readonly url: string;
        readonly events: ReadonlyArray<'stream.started' | 'stream.idle' | 'stream.health' | 'multistream.connected' | 'multistream.disconnected' | 'multistream.error' | 'task.spawned' | 'task.updated' | 'task.completed' | 'task.failed' | 'asset.created' | 'asset.updated' | 'asset.ready' | 'asset.failed' | 'asset.deleted' | 'recording.started' | 'recording.waiting' | 'recording.ready' | 'playback.refused' | 'plugin.reaction_parked'>;
        /** Only events of this stream are sent; null: those of all. */
        readonly streamId?: string | null;
        /** Whsec_ and base64 of at least 8 bytes, or other text of at least as many characters. */
        readonly sharedSecret?: string | null;
      };
    } & OnceOptions): Promise<Webhook>;
  /** Lists webhooks; parameters as for streams. `GET /api/webhook` */
  listWebhooks(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'name';
          readonly value: string;
        } | {
          readonly id: 'url';
          readonly value: string;
        } | {
          readonly id: 'streamId';
          readonly value: string;
        } | {
          readonly id: 'createdAt';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'userId';
          readonly value: string;
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly Webhook[]>;
  /** One webhook, with the `status` of its deliveries. `GET /api/webhook/{id}` */
  getWebhook(call: {
      readonly id: string;
    } & CallOptions): Promise<Webhook>;
  /** Replaces a webhook. A new `sharedSecret` and the previous one both sign for 24 h. 200 with the webhook. `PUT /api/webhook/{id}` */
  replaceWebhook(call: {
      readonly id: string;
      readonly body: {
        readonly name: string;
        /** An http:// or https:// URL of at most 2000 characters, without control characters. */
        readonly url: string;
        readonly events: ReadonlyArray<'stream.started' | 'stream.idle' | 'stream.health' | 'multistream.connected' | 'multistream.disconnected' | 'multistream.error' | 'task.spawned' | 'task.updated' | 'task.completed' | 'task.failed' | 'asset.created' | 'asset.updated' | 'asset.ready' | 'asset.failed' | 'asset.deleted' | 'recording.started' | 'recording.waiting' | 'recording.ready' | 'playback.refused' | 'plugin.reaction_parked'>;
        /** Only events of this stream are sent; null: those of all. */
        readonly streamId?: string | null;
        /** Whsec_ and base64 of at least 8 bytes, or other text of at least as many characters. */
        readonly sharedSecret?: string | null;
      };
    } & CallOptions): Promise<Webhook>;
  /** Deletes a webhook, its waiting deliveries and its log. 204. `DELETE /api/webhook/{id}` */
  deleteWebhook(call: {
      readonly id: string;
    } & CallOptions): Promise<undefined>;
  /** What the account of the API key has and uses, and how much it may. `GET /api/account/usage` */
  getAccountUsage(call?: {
      readonly query?: {
        /** Another account; only for keys of the admin account. */
        readonly accountId?: string;
      };
    } & CallOptions): Promise<AccountUsage>;
  /** Lists who did what, newest first: accounts and API keys that were made, stream keys that were replaced, everything that was deleted, sign-ins. A key of the admin account sees all accounts. `GET /api/audit` */
  listAudit(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'at';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        } | {
          readonly id: 'action';
          readonly value: string;
        } | {
          readonly id: 'target';
          readonly value: string;
        } | {
          readonly id: 'keyId';
          readonly value: string;
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly AuditEntry[]>;
  /** The server: plugins, config in force, disk and issues of the node that answers, and all nodes. Secrets are hidden. Only for keys of the admin account. `GET /api/system` */
  getSystem(call?: CallOptions): Promise<System>;
  /** Lists reactions of plugins that fail for more than a minute, or are parked; only for keys of the admin account. `GET /api/system/reactions` */
  listReactions(call?: {
      readonly query?: {
        /** Rows of one page. */
        readonly limit?: number;
        /** Start of the page, from the `Link` of the page before; only for the same list in the same order. */
        readonly cursor?: string;
        /** Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`. */
        readonly order?: string;
        /** `asc` or `desc` sorts by name; any other text ranks names by similarity to it. */
        readonly name?: string;
        /** All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal. */
        readonly filters?: ReadonlyArray<{
          readonly id: 'id';
          readonly value: string;
        } | {
          readonly id: 'plugin';
          readonly value: string;
        } | {
          readonly id: 'status';
          readonly value: string;
        } | {
          readonly id: 'error';
          readonly value: string;
        } | {
          readonly id: 'tries';
          readonly value: number | {
            readonly gt?: number;
            readonly gte?: number;
            readonly lt?: number;
            readonly lte?: number;
          };
        }>;
        /** Adds `X-Total-Count`. */
        readonly count?: boolean;
      };
    } & CallOptions): Promise<readonly Reaction[]>;
  /** A reaction that fails or is parked; only for keys of the admin account. `GET /api/system/reactions/{id}` */
  getReaction(call: {
      readonly id: string;
    } & CallOptions): Promise<Reaction>;
  /** Gives a parked reaction up: it is never tried again. `DELETE /api/system/reactions/{id}` */
  deleteReaction(call: {
      readonly id: string;
    } & CallOptions): Promise<undefined>;
  /** Tries a parked reaction again, once, on the node that runs the reactions of its plugin. It is gone when it succeeds, and stays parked otherwise. `POST /api/system/reactions/{id}/resume` */
  resumeReaction(call: {
      readonly id: string;
    } & OnceOptions): Promise<undefined>;
}

/** Method, path, and whether a repeat is recognised by its Idempotency-Key. */
export const operations = {
  getLiveness: { method: 'GET', path: '/health/live' },
  getReadiness: { method: 'GET', path: '/health/ready' },
  listAccounts: { method: 'GET', path: '/api/account' },
  createAccount: { method: 'POST', path: '/api/account', isOnce: true },
  getAccount: { method: 'GET', path: '/api/account/{id}' },
  changeAccount: { method: 'PATCH', path: '/api/account/{id}' },
  getCurrentApiToken: { method: 'GET', path: '/api/api-token/current' },
  createApiToken: { method: 'POST', path: '/api/api-token', isOnce: true },
  listApiTokens: { method: 'GET', path: '/api/api-token' },
  getApiToken: { method: 'GET', path: '/api/api-token/{id}' },
  deleteApiToken: { method: 'DELETE', path: '/api/api-token/{id}' },
  createSignInCode: { method: 'POST', path: '/api/sign-in-code', isOnce: true },
  signIn: { method: 'POST', path: '/api/sign-in' },
  listStreams: { method: 'GET', path: '/api/stream' },
  createStream: { method: 'POST', path: '/api/stream', isOnce: true },
  listStreamSessions: { method: 'GET', path: '/api/stream/{id}/sessions' },
  listSessions: { method: 'GET', path: '/api/session' },
  getSession: { method: 'GET', path: '/api/session/{id}' },
  getSessionTimeline: { method: 'GET', path: '/api/session/{id}/timeline' },
  listRefusedPublishes: { method: 'GET', path: '/api/ingest/refused' },
  getStream: { method: 'GET', path: '/api/stream/{id}' },
  changeStream: { method: 'PATCH', path: '/api/stream/{id}' },
  deleteStream: { method: 'DELETE', path: '/api/stream/{id}' },
  terminateStream: { method: 'DELETE', path: '/api/stream/{id}/terminate' },
  rotateStreamKey: { method: 'POST', path: '/api/stream/{id}/rotate-key', isOnce: true },
  getStreamHealth: { method: 'GET', path: '/api/stream/{id}/health' },
  createTarget: { method: 'POST', path: '/api/multistream/target', isOnce: true },
  listTargets: { method: 'GET', path: '/api/multistream/target' },
  getTarget: { method: 'GET', path: '/api/multistream/target/{id}' },
  changeTarget: { method: 'PATCH', path: '/api/multistream/target/{id}' },
  deleteTarget: { method: 'DELETE', path: '/api/multistream/target/{id}' },
  listTasks: { method: 'GET', path: '/api/task' },
  getTask: { method: 'GET', path: '/api/task/{id}' },
  retryTask: { method: 'POST', path: '/api/task/{id}/retry', isOnce: true },
  cancelTask: { method: 'POST', path: '/api/task/{id}/cancel', isOnce: true },
  requestUpload: { method: 'POST', path: '/api/asset/request-upload', isOnce: true },
  importAsset: { method: 'POST', path: '/api/asset/import', isOnce: true },
  listAssets: { method: 'GET', path: '/api/asset' },
  getAsset: { method: 'GET', path: '/api/asset/{id}' },
  changeAsset: { method: 'PATCH', path: '/api/asset/{id}' },
  deleteAsset: { method: 'DELETE', path: '/api/asset/{id}' },
  transcodeAsset: { method: 'POST', path: '/api/asset/{id}/transcode', isOnce: true },
  exportAsset: { method: 'POST', path: '/api/asset/{id}/export', isOnce: true },
  setRecord: { method: 'PATCH', path: '/api/stream/{id}/record' },
  getPlayback: { method: 'GET', path: '/api/playback/{id}' },
  createAlias: { method: 'POST', path: '/api/alias', isOnce: true },
  listAliases: { method: 'GET', path: '/api/alias' },
  getAlias: { method: 'GET', path: '/api/alias/{id}' },
  deleteAlias: { method: 'DELETE', path: '/api/alias/{id}' },
  revokePlayback: { method: 'POST', path: '/api/playback/{id}/revoke', isOnce: true },
  checkPlayback: { method: 'POST', path: '/api/playback/{id}/check', isOnce: true },
  getPlaybackToken: { method: 'GET', path: '/api/playback/{id}/token' },
  createSigningKey: { method: 'POST', path: '/api/signing-key', isOnce: true },
  listSigningKeys: { method: 'GET', path: '/api/signing-key' },
  getSigningKey: { method: 'GET', path: '/api/signing-key/{id}' },
  deleteSigningKey: { method: 'DELETE', path: '/api/signing-key/{id}' },
  getIngest: { method: 'GET', path: '/api/ingest' },
  listEvents: { method: 'GET', path: '/api/events/log' },
  listWebhookLog: { method: 'GET', path: '/api/webhook/{id}/log' },
  getWebhookLogEntry: { method: 'GET', path: '/api/webhook/{id}/log/{logId}' },
  resendWebhookDelivery: { method: 'POST', path: '/api/webhook/{id}/log/{logId}/resend', isOnce: true },
  testWebhook: { method: 'POST', path: '/api/webhook/{id}/test', isOnce: true },
  createWebhook: { method: 'POST', path: '/api/webhook', isOnce: true },
  listWebhooks: { method: 'GET', path: '/api/webhook' },
  getWebhook: { method: 'GET', path: '/api/webhook/{id}' },
  replaceWebhook: { method: 'PUT', path: '/api/webhook/{id}' },
  deleteWebhook: { method: 'DELETE', path: '/api/webhook/{id}' },
  getAccountUsage: { method: 'GET', path: '/api/account/usage' },
  listAudit: { method: 'GET', path: '/api/audit' },
  getSystem: { method: 'GET', path: '/api/system' },
  listReactions: { method: 'GET', path: '/api/system/reactions' },
  getReaction: { method: 'GET', path: '/api/system/reactions/{id}' },
  deleteReaction: { method: 'DELETE', path: '/api/system/reactions/{id}' },
  resumeReaction: { method: 'POST', path: '/api/system/reactions/{id}/resume', isOnce: true },
} as const;

/** Calls that answer with one page of a list. */
export type ListName =
  | 'listAccounts'
  | 'listApiTokens'
  | 'listStreams'
  | 'listStreamSessions'
  | 'listSessions'
  | 'getSessionTimeline'
  | 'listTargets'
  | 'listTasks'
  | 'listAssets'
  | 'listAliases'
  | 'listSigningKeys'
  | 'listEvents'
  | 'listWebhookLog'
  | 'listWebhooks'
  | 'listAudit'
  | 'listReactions';
