import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { commands } from '../../cli/commands.ts';
import { millrace } from './printed.ts';

const script = async (shell: string) => {
  const { code, out, error } = await millrace('completion', shell);
  expect([code, error]).toEqual([0, '']);
  return out;
};

it.each(['bash', 'zsh', 'fish'])(
  'the script for %s has every command and option, and the shell can read it',
  async (shell) => {
    const text = await script(shell);
    for (const { name, options = {} } of commands) {
      for (const word of name.split(' ')) expect(text).toContain(word);
      for (const option of Object.keys(options))
        expect(text).toMatch(new RegExp(shell === 'fish' ? `-l ${option} ` : `--${option}\\b`));
    }
    // Not on every machine.
    if (Bun.which(shell) === null) return;
    const flag = shell === 'fish' ? '--no-execute' : '-n';
    const read = spawnSync(shell, [flag, '/dev/stdin'], { input: text, encoding: 'utf8' });
    expect([read.status, read.stderr]).toEqual([0, '']);
  },
);

it.each([
  [['st'], 'start stream'],
  [['stream', ''], 'list create show watch key'],
  [['stream', 'l'], 'list'],
  [['stream', 'list', '--s'], '--server'],
  [['task', 'follow', 'x', '--j'], '--json'],
  [['upload', ''], ''],
])('bash completes millrace %j with %j', async (words, completed) => {
  const list = ['millrace', ...words].map((word) => `'${word}'`).join(' ');
  const program = `${await script('bash')}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length}; _millrace; echo "\${COMPREPLY[*]}"`;
  expect(spawnSync('bash', ['-c', program], { encoding: 'utf8' })).toMatchObject({
    stdout: `${completed}\n`,
    stderr: '',
  });
});

it('knows no other shell', async () => {
  expect(await millrace('completion', 'tcsh')).toMatchObject({
    code: 2,
    error: 'millrace completion: expected bash, zsh or fish.\n',
  });
});
