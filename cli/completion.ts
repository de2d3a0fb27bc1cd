import { type Command, exits, Failure, print } from './command.ts';

const shells = { bash, zsh, fish };
const help = { name: 'help', summary: 'explains a command' };

/** `commands` is asked when it runs: it is one of them. */
export function completion(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    usage: 'bash|zsh|fish',
    summary: 'prints a script that completes the commands and options of millrace in a shell',
    details:
      'bash: add to ~/.bashrc:  source <(millrace completion bash)\n' +
      'zsh:  millrace completion zsh > a file _millrace in a folder of $fpath\n' +
      'fish: millrace completion fish > ~/.config/fish/completions/millrace.fish',
    arguments: { least: 1, most: 1 },
    async run({ arguments: [shell = ''] }) {
      if (!Object.hasOwn(shells, shell)) throw new Failure('expected bash, zsh or fish.', exits.usage);
      print(shells[shell as keyof typeof shells]([...commands(), help]).trimEnd());
      return exits.fine;
    },
  };
}

/** What is completed of a command. */
type Completed = Pick<Command, 'name' | 'summary' | 'options'>;

/** First words, and behind those of groups the second ones. */
function wordsOf(commands: readonly Completed[]): ReadonlyMap<string, readonly string[]> {
  const words = new Map<string, string[]>();
  for (const { name } of commands) {
    const [first = '', second] = name.split(' ');
    words.set(first, [...(words.get(first) ?? []), ...(second === undefined ? [] : [second])]);
  }
  return words;
}

function flagsOf({ options = {} }: Completed): string[] {
  return [...Object.keys(options), 'help'].map((name) => `--${name}`);
}

function bash(commands: readonly Completed[]): string {
  const words = wordsOf(commands);
  const groups = [...words].filter(([, second]) => second.length > 0);
  return `# bash completion of millrace
_millrace() {
  local current="\${COMP_WORDS[COMP_CWORD]}" offered=""
  local command="\${COMP_WORDS[1]}"
  case "$command" in
    ${groups.map(([first]) => first).join('|')}) [ "$COMP_CWORD" -gt 2 ] && command="$command \${COMP_WORDS[2]}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    offered="${[...words.keys()].join(' ')}"
  else
    case "$command" in
${[
  ...groups.map(([first, second]) => [first, second.join(' ')] as const),
  ...commands.map((command) => [command.name, flagsOf(command).join(' ')] as const),
]
  .map(([name, offered]) => `      "${name}") offered="${offered}" ;;`)
  .join('\n')}
    esac
    # Options are offered behind a dash; without one, files are.
    case "$offered" in --*) [[ "$current" == -* ]] || offered="" ;; esac
  fi
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _millrace millrace
`;
}

function zsh(commands: readonly Completed[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const words = wordsOf(commands);
  const described = (first: string) => {
    const own = commands.find(({ name }) => name === first);
    return quoted(`${first}:${own?.summary ?? `${first} ${words.get(first)?.join(', ')}`}`);
  };
  const groups = [...words].filter(([, second]) => second.length > 0);
  const optionLines = (command: Completed) =>
    [
      ...Object.entries(command.options ?? {}).map(([name, { type, value, summary }]) => {
        const text = summary.replace(/[[\]:]/g, '\\$&');
        return quoted(`--${name}[${text}]${type === 'string' ? `:${value ?? ''}:_files` : ''}`);
      }),
      quoted('*:file:_files'),
    ].join(' ');
  return `#compdef millrace
_millrace() {
  local -a offered
  if (( CURRENT == 2 )); then
    offered=(${[...words.keys()].map(described).join(' ')})
    _describe 'command' offered
    return
  fi
  local command="$words[2]" depth=2
  case "$command" in
    ${groups.map(([first]) => first).join('|')})
      if (( CURRENT > 3 )); then command="$command $words[3]"; depth=3; fi ;;
  esac
  case "$command" in
${groups
  .map(([first, second]) => {
    const lines = second.map((word) => {
      const summary = commands.find(({ name }) => name === `${first} ${word}`)?.summary ?? '';
      return quoted(`${word}:${summary}`);
    });
    return `    '${first}') offered=(${lines.join(' ')}); _describe 'command' offered ;;`;
  })
  .join('\n')}
${commands
  .map(
    (command) =>
      `    '${command.name}') shift $((depth - 1)) words; (( CURRENT -= depth - 1 )); _arguments ${optionLines(command)} ;;`,
  )
  .join('\n')}
  esac
}
if [ "$funcstack[1]" = "_millrace" ]; then _millrace "$@"; else compdef _millrace millrace; fi
`;
}

function fish(commands: readonly Completed[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const words = wordsOf(commands);
  const lines = [...words].flatMap(([first, second]) => {
    const own = commands.find(({ name }) => name === first);
    const top = `complete -c millrace -n __fish_use_subcommand -a ${quoted(first)} -d ${quoted(own?.summary ?? second.join(', '))}`;
    const below = second.map((word) => {
      const summary = commands.find(({ name }) => name === `${first} ${word}`)?.summary ?? '';
      const condition = `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${second.join(' ')}`;
      return `complete -c millrace -f -n ${quoted(condition)} -a ${quoted(word)} -d ${quoted(summary)}`;
    });
    return [top, ...below];
  });
  const options = commands.flatMap(({ name, options = {} }) => {
    const condition = name
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ');
    return Object.entries(options).map(
      ([option, { type, summary }]) =>
        `complete -c millrace -n ${quoted(condition)} -l ${option}${type === 'string' ? ' -r' : ''} -d ${quoted(summary)}`,
    );
  });
  return `# fish completion of millrace\n${[...lines, ...options].join('\n')}\n`;
}
