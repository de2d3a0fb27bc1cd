/** What this process knows of itself, for operators. Nothing of it is a secret. */
export interface ProgramFacts {
  readonly version: string;
  /** Epoch ms. */
  readonly startedAt: number;
  /** In the order of their start, then those that the config switches off. */
  plugins(): readonly PluginFacts[];
  /** Every key of the config, those of plugins among them. */
  config(): readonly ConfigFact[];
  /** The disk of the data folder; undefined where it cannot be asked. */
  disk(): Promise<DiskFacts | undefined>;
  /** Those of `/health/ready`. */
  issues(): readonly string[];
}

export interface PluginFacts {
  readonly id: string;
  /** Unknown of one that is not loaded. */
  readonly summary?: string;
  /** `failed`: it could not be started, or needs one that could not. `off`: the config says so. */
  readonly state: 'on' | 'failed' | 'off';
  /** How long its start took, ms. */
  readonly startMs?: number;
  /** Why it failed, as the end of a sentence. */
  readonly error?: string;
}

export interface ConfigFact {
  /** `http.port`; `plugins.streams.hold`. */
  readonly key: string;
  /** Undefined: not set. Of a secret that is set, dots. */
  readonly value?: unknown;
  /** Where the value is from: the environment goes over the file, and the file over the default. */
  readonly source: ConfigSource;
  /** Its value, or a part of it, is hidden. */
  readonly isSecret: boolean;
}

export type ConfigSource = 'default' | 'file' | 'environment';

export interface DiskFacts {
  readonly dataDir: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}
