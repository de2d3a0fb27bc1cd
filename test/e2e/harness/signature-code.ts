import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const signaturesOfPage = '../../../plugins/dashboard/page/lib/signatures.js';
const { signatures } = (await import(signaturesOfPage)) as { signatures: { id: string; code: string }[] };

export type Language = 'node' | 'python' | 'go' | 'php';

/** The code that the page shows. */
export const codeOf = (id: string) => signatures.find((one) => one.id === id)?.code ?? '';

/** Runs the code that the page shows on a delivery as it came, and on one whose body was changed. */
export async function checkSnippets(
  delivery: Delivery,
  languages: readonly Language[] = ['node', 'python'],
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-signatures-'));
  const check = async (language: Language) => {
    const isGenuine = await runners[language](join(folder, language));
    return Promise.all([isGenuine(delivery), isGenuine({ ...delivery, body: `${delivery.body} ` })]);
  };
  const checked = await Promise.all(languages.map(async (one) => [one, ...(await check(one))]));
  await rm(folder, { recursive: true });
  expect(checked).toEqual(languages.map((one) => [one, 'true', 'false']));
}

interface Delivery {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly secret: string;
}

/** Prepares a program below a path; it prints `true` or `false` about the delivery of its last argument. */
const runners: Record<Language, (path: string) => Promise<(delivery: Delivery) => Promise<string>>> = {
  node: async () =>
    about('node', [
      ...['--input-type=module', '-e'],
      `${codeOf('node')}
const delivery = JSON.parse(process.argv[1]);
console.log(isGenuine({ ...delivery, body: Buffer.from(delivery.body) }));`,
    ]),
  python: async () =>
    about('python3', [
      '-c',
      `${codeOf('python')}
import json, sys
d = json.loads(sys.argv[1])
print(str(is_genuine(d["headers"], d["body"].encode(), d["secret"])).lower())`,
    ]),
  async go(path) {
    await Bun.write(join(path, 'go.mod'), 'module check\n\ngo 1.20\n');
    await Bun.write(join(path, 'hooks/signature.go'), codeOf('go'));
    await writeFile(join(path, 'main.go'), goMain);
    await runFile('go', ['build', '-o', 'check', '.'], { cwd: path });
    return about(join(path, 'check'), []);
  },
  async php(path) {
    const main = `
$delivery = json_decode($argv[1], true);
echo json_encode(isGenuine($delivery['headers'], $delivery['body'], $delivery['secret']));`;
    await Bun.write(join(path, 'check.php'), `${codeOf('php')}${main}`);
    return about('php', [join(path, 'check.php')]);
  },
};

const goMain = `package main

import (
	"check/hooks"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	var d struct {
		Headers map[string]string
		Body, Secret string
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &d); err != nil {
		panic(err)
	}
	header := http.Header{}
	for name, value := range d.Headers {
		header.Set(name, value)
	}
	fmt.Println(hooks.IsGenuine(header, []byte(d.Body), d.Secret))
}
`;

const runFile = promisify(execFile);
const about = (command: string, words: readonly string[]) => async (delivery: Delivery) =>
  (await runFile(command, [...words, JSON.stringify(delivery)])).stdout.trim();
