/**
 * Draws every machine into docs/machines.md, as Mermaid that GitHub shows. `bun scripts/machines.ts` writes it;
 * test/arch/machines.test.ts fails when it is out of date.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { Glob } from 'bun';
import type { AnyStateMachine, AnyStateNode } from 'xstate';

const root = new URL('../', import.meta.url).pathname;
/** Stands for the machine as a whole. */
const anyState = 'any_state';

export async function machines(): Promise<string> {
  const sections = [
    '# Machines',
    'Made by `bun scripts/machines.ts` from the machines themselves. Events that change no state are left out; what is in',
    'brackets must hold; `after` is a deadline, `done` and `error` are how a job ended, named by its invoke.',
  ];
  let text = `${sections[0]}\n\n${sections.slice(1).join('\n')}\n`;
  for (const path of [...new Glob('machines/*.ts').scanSync(root)].sort()) {
    const source = await readFile(`${root}${path}`, 'utf8');
    const module = (await import(`${root}${path}`)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(module)) {
      if (!isMachine(value)) continue;
      text += `\n## ${value.id}\n\n${meaningOf(name, source)}\n\n\`\`\`mermaid\n${diagram(value)}\n\`\`\`\n`;
    }
  }
  return text;
}

/** A state diagram of one machine. */
export function diagram(machine: AnyStateMachine): string {
  const arrows = transitions(machine.root);
  const any = arrows.some((arrow) => arrow.startsWith(`  ${anyState} `));
  const states = [...(any ? [`  state "any state" as ${anyState}`] : []), ...within(machine.root)];
  return ['stateDiagram-v2', ...states, ...arrows].join('\n');
}

if (import.meta.main) await writeFile(`${root}docs/machines.md`, await machines());

function isMachine(value: unknown): value is AnyStateMachine {
  return typeof value === 'object' && value !== null && 'root' in value && 'getInitialSnapshot' in value;
}

/** The first paragraph of its docstring. */
function meaningOf(name: string, source: string): string {
  const before = source.slice(0, source.indexOf(`export const ${name} `));
  const lines = before.slice(before.lastIndexOf('/**') + 3, before.lastIndexOf('*/')).split('\n');
  const words = lines.map((line) => line.replace(/^\s*\*? ?/, '').trimEnd());
  const [first = ''] = words.join('\n').trim().split('\n\n');
  return first;
}

/** The states inside of one, and where it begins. */
function within(node: AnyStateNode, indent = '  '): string[] {
  const children = Object.values(node.states) as AnyStateNode[];
  const first = children.find(({ key }) => key === node.initial.target[0]?.key);
  return [
    ...children.flatMap((child) => {
      const label = `${indent}state "${child.key}" as ${idOf(child)}`;
      if (child.type === 'final') return [label, `${indent}${idOf(child)} --> [*]`];
      if (Object.keys(child.states).length === 0) return [label];
      return [`${label} {`, ...within(child, `${indent}  `), `${indent}}`];
    }),
    ...(first ? [`${indent}[*] --> ${idOf(first)}`] : []),
  ];
}

/** All arrows, those between the same two states as one. */
function transitions(top: AnyStateNode): string[] {
  const arrows = new Map<string, Set<string>>();
  for (const node of all(top)) {
    for (const { eventType, target, guard, reenter } of [...node.transitions.values()]
      .flat()
      .concat(node.always ?? [])) {
      for (const to of target ?? []) {
        if (to === node && !reenter && node !== top) continue;
        // What every state takes is drawn once, from the outside.
        const from = node === top ? anyState : idOf(node);
        const arrow = `${from} --> ${idOf(to)}`;
        const labels = arrows.get(arrow) ?? new Set();
        labels.add(`${labelOf(eventType)}${guardOf(guard)}`.trim());
        arrows.set(arrow, labels);
      }
    }
  }
  return [...arrows].map(([arrow, labels]) => {
    const label = [...labels].filter((one) => one !== '').join(', ');
    return `  ${arrow}${label === '' ? '' : ` : ${label}`}`;
  });
}

function all(node: AnyStateNode): AnyStateNode[] {
  return [node, ...(Object.values(node.states) as AnyStateNode[]).flatMap(all)];
}

function idOf(node: AnyStateNode): string {
  return node.path.join('_').replaceAll(/[^a-zA-Z0-9_]/g, '_');
}

/** XState's own names of deadlines and jobs, as the machine names them. */
function labelOf(eventType: string): string {
  const [, after] = /^xstate\.after\.([^.]+)\./.exec(eventType) ?? [];
  if (after !== undefined) return `after ${after}`;
  const [, outcome, child] = /^xstate\.(done|error)\.actor\.(.+)$/.exec(eventType) ?? [];
  return outcome === undefined ? eventType : `${child} ${outcome}`;
}

/** A guard with a name; one that is written in place has none. */
function guardOf(guard: unknown): string {
  if (guard === undefined) return '';
  return typeof guard === 'string' ? ` [${guard}]` : ' [if]';
}
