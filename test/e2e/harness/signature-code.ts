import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const signaturesOfPage = '../../../plugins/dashboard/page/lib/signatures.js';
const { signatures } = (await import(signaturesOfPage)) as { signatures: { id: string; code: string }[] };

/** Runs the code that the page shows on a delivery as it came, and on one whose body was changed. */
export async function checkSnippets(delivery: Delivery) {
  const runs = [runNode, runPython];
  const checks = runs.flatMap((run) => [run(delivery), run({ ...delivery, body: `${delivery.body} ` })]);
  expect(await Promise.all(checks)).toEqual(runs.flatMap(() => ['true', 'false']));
}

interface Delivery {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly secret: string;
}

const codeOf = (id: string) => signatures.find((one) => one.id === id)?.code ?? '';
const runFile = promisify(execFile);

async function runNode(delivery: Delivery): Promise<string> {
  const script = `${codeOf('node')}\nconst delivery = ${JSON.stringify(delivery)};
console.log(isGenuine({ ...delivery, body: Buffer.from(delivery.body) }));`;
  return (await runFile('node', ['--input-type=module', '-e', script])).stdout.trim();
}

async function runPython({ headers, body, secret }: Delivery): Promise<string> {
  const script = `${codeOf('python')}\nimport json, sys
d = json.loads(sys.argv[1])
print(str(is_genuine(d["headers"], d["body"].encode(), d["secret"])).lower())`;
  const given = JSON.stringify({ headers, body, secret });
  return (await runFile('python3', ['-c', script, given])).stdout.trim();
}
