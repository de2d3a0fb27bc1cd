import type { IConfiguration, IForbiddenRuleType } from 'dependency-cruiser';

/**
 * Who may import whom (docs/how-it-works.md#the-folders). Types count like code.
 * `scripts/import-rules.ts` runs it, `test/arch/import-rules.test.ts` proves that each rule bites.
 */
const folders = '^(core|machines|plugins|runtime|config|sdk|cli|demo|examples|test|bench|scripts)/';

/** `from` may import, of this project's own files, only what matches `allowed`. */
const only = (
  name: string,
  from: string | { path: string; pathNot: string },
  allowed: string,
  comment: string,
): IForbiddenRuleType => ({
  name,
  comment,
  severity: 'error',
  from: typeof from === 'string' ? { path: from } : from,
  to: { path: folders, pathNot: allowed },
});

/** Plugins that ship with the program and are written as those outside are. */
const outsiders = '^plugins/(aliases|mux-compat|studio-compat|mcp)/';

const rules: IConfiguration = {
  forbidden: [
    only('core-alone', '^core/', '^core/', 'core imports nothing else of the project'),
    {
      name: 'machines-only-xstate',
      comment: 'machines are pure: xstate and other machines, nothing else',
      severity: 'error',
      from: { path: '^machines/' },
      to: { pathNot: '^machines/|(^|/)node_modules/xstate/|^xstate(/|$)' },
    },
    only(
      'plugins-to-core-and-machines',
      { path: '^plugins/', pathNot: outsiders },
      '^(core|machines|plugins)/',
      'a plugin imports core, machines and plugins; all else comes through its kit',
    ),
    {
      name: 'dialects-to-the-plugin-entry',
      comment: 'these plugins show that the entry for plugins outside is enough: they import nothing else',
      severity: 'error',
      from: { path: outsiders },
      to: { path: folders, pathNot: '^plugins/$1/|^sdk/(plugin|client/index)\\.ts$' },
    },
    {
      name: 'plugins-meet-through-contracts',
      comment: "a plugin imports another plugin's contract.ts, never what lies behind it",
      severity: 'error',
      from: { path: '^plugins/([^/]+)/' },
      to: { path: '^plugins/', pathNot: '^plugins/($1/|[^/]+/contract\\.ts$)' },
    },
    {
      name: 'contracts-hold-no-logic',
      comment: 'a contract is tokens and schemas: it imports core and other contracts only',
      severity: 'error',
      from: { path: '^plugins/[^/]+/contract\\.ts$' },
      to: { path: folders, pathNot: '^core/|^plugins/[^/]+/contract\\.ts$' },
    },
    only(
      'runtime-to-core',
      { path: '^runtime/', pathNot: '^runtime/(main|boot/open-[a-z]+)\\.ts$' },
      '^(core|runtime)/',
      'runtime imports core and itself; only main.ts and what opens drivers and services know the config',
    ),
    only(
      'main-to-config',
      '^runtime/(main|boot/open-[a-z]+)\\.ts$',
      '^(core|runtime|config)/',
      'main.ts and what opens drivers and services join runtime and config',
    ),
    only(
      'config-to-core-and-plugins',
      '^config/',
      '^(config|core|plugins)/',
      'config imports core and plugins',
    ),
    only(
      'plugin-entry-to-contracts',
      '^sdk/plugin\\.ts$',
      '^(core|machines)/|^plugins/[^/]+/contract\\.ts$',
      'what plugins import from outside is core, machines and contracts',
    ),
    only(
      'testing-entry-to-kit',
      '^sdk/testing\\.ts$',
      '^test/(kit|conformance/blobs)/',
      'what tests of plugins import is the kit of our own tests, and the conformance suites',
    ),
    {
      name: 'client-alone',
      comment: 'the client runs in Node and browsers: it imports nothing but its own files',
      severity: 'error',
      from: { path: '^sdk/client/' },
      to: { pathNot: '^sdk/client/' },
    },
    only(
      'cli-to-the-program',
      '^cli/',
      '^(cli|core|config)/|^runtime/main\\.ts$|^runtime/boot/[^/]+\\.ts$|^sdk/(testing|client/index)\\.ts$|^demo/(main|broadcast|clip)\\.ts$',
      'a command imports core, the config, what starts the program, the demo, and the entry points',
    ),
    {
      name: 'examples-are-outsiders',
      comment: 'an example is a package of its own: it imports millrace/*, never a file of this repository',
      severity: 'error',
      from: { path: '^examples/([^/]+)/' },
      to: { path: folders, pathNot: '^examples/$1/' },
    },
    {
      name: 'entry-points-for-outsiders',
      comment:
        'the program imports its own files; millrace/* is for examples, tests and what runs in a browser',
      severity: 'error',
      from: { path: folders, pathNot: '^(examples|test|plugins/dashboard/page)/' },
      // Resolved to dist/ where a package was packed here.
      to: { path: '^(millrace|dist)/' },
    },
    only(
      'demo-is-a-client',
      '^demo/',
      '^(core|demo)/|^config/load\\.ts$|^runtime/media/rtmp/(amf0|client-session|message-writer)\\.ts$',
      'the demo is a client: core, what an RTMP client says, and the config to find the server by',
    ),
    {
      name: 'publisher-below-its-subscribers',
      comment: 'what receives and packages a publish knows none of those that subscribe to it',
      severity: 'error',
      from: { path: '^runtime/media/(publish|live|rtmp|flv|codecs)/' },
      to: {
        path: '^runtime/',
        pathNot: '^runtime/(base|media/(publish|live|rtmp|flv|codecs|mp4))/',
      },
    },
    {
      name: 'broadcast-on-top',
      comment:
        'runtime/media/broadcast joins a publisher with its subscribers: nothing below imports back up',
      severity: 'error',
      from: { path: '^runtime/media/', pathNot: '^runtime/media/broadcast/' },
      to: { path: '^runtime/media/broadcast/' },
    },
    {
      name: 'nothing-imports-tests',
      comment: 'test, bench and scripts are no part of the product',
      severity: 'error',
      from: {
        path: '^(core|machines|plugins|runtime|config|sdk|cli|demo|examples)/',
        pathNot: '^sdk/testing\\.ts$',
      },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'sqlite-in-drivers',
      comment: 'bun:sqlite is a driver matter',
      severity: 'error',
      from: {
        path: '^(core|machines|plugins|runtime|config|sdk|cli|demo|examples)/',
        pathNot: '^runtime/drivers/',
      },
      to: { path: '^bun:sqlite$' },
    },
    {
      name: 'fluent-ffmpeg-in-one-file',
      comment: 'what is unsafe in it is kept in one place: runtime/media/ffmpeg/README.md',
      severity: 'error',
      from: { pathNot: '^runtime/media/ffmpeg/command\\.ts$' },
      to: { path: '(^|/)node_modules/fluent-ffmpeg/|^fluent-ffmpeg(/|$)' },
    },
    {
      name: 'no-cycles',
      comment: 'no circular imports',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'an import names something that exists',
      severity: 'error',
      from: {},
      // How the program itself resolves its entry points for plugins: config/entry-points.ts.
      to: { couldNotResolve: true, pathNot: '^bun(:|$)|^millrace/(plugin|testing|client)$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|^dist/' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'bun', 'node', 'default', 'types'],
    },
  },
};

export default rules;
