import { type Static, Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength, nameSchema } from '../../core/base/name.ts';
import { object, optional } from '../../core/base/schema.ts';
import { mayCreate } from '../../core/http/access.ts';
import { notAllowed } from '../../core/http/auth.ts';
import { idSchema } from '../../core/http/operation.ts';
import { type FieldChange, field } from '../../core/plugin/resource.ts';
import { type Profile, profilesField } from '../renditions/contract.ts';
import { stream } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import { specSchema, targetsOf, urlProblem } from './target.ts';

/** Below `/api`, as access rules name it. */
const targetPath = 'multistream/target';
/** Of one stream: each gets its own connection. */
const maxTargets = 50;

const schema = object(
  {
    targets: Type.Optional(
      Type.Array(
        object({
          profile: nameSchema('source'),
          id: optional.string({ minLength: 1, maxLength: maxIdLength }),
          spec: Type.Optional(specSchema),
          videoOnly: optional.boolean(),
        }),
        { maxItems: maxTargets },
      ),
    ),
  },
  {
    description:
      'Where broadcasts are pushed to. Each target has either `id`, or `spec` to create one. Without `targets` there are none.',
    examples: [{ targets: [{ profile: 'source', spec: { url: 'rtmp://live.example.com/app/key' } }] }],
  },
);

/** As the API shows it: each target by its id. */
const shown = object(
  {
    targets: Type.Array(
      object({
        profile: Type.String({ examples: ['source'] }),
        id: idSchema,
        videoOnly: optional.boolean(),
      }),
    ),
  },
  { description: 'Where broadcasts are pushed to.' },
);

type Multistream = Static<typeof schema>;
type Entries = NonNullable<Multistream['targets']>;

/** `multistream` of a stream: where its broadcasts are pushed to, and which rendition of them. */
export const multistream = field<Multistream, MultistreamKit>(stream, 'multistream', {
  schema,
  shown,
  faults: ['multistream.invalid', 'target.too_many'],
  initial: { targets: [] },
  async validate({ targets = [] }, change) {
    const isMaking = targets.some(({ spec }) => spec !== undefined);
    if (isMaking && !mayCreate(change.principal.access, targetPath))
      throw notAllowed(`a target made by spec needs post ${targetPath}, and its access rules have none`);
    const malformed = targets.flatMap(({ spec }, index) => {
      const problem = spec && urlProblem(spec.url);
      return problem ? [`multistream.targets.${index}.spec.url: ${problem}`] : [];
    });
    if (malformed.length > 0) throw new Fault('multistream.invalid', { status: 400, message: malformed });
    const message = await problemsOf(targets, change);
    if (message.length > 0) throw new Fault('multistream.invalid', { status: 400, message });
  },
  async prepare({ targets = [] }, { principal, kit }) {
    const own = targetsOf(principal, kit);
    const isLeft = await Promise.all(targets.map(async ({ id }) => id === undefined || (await own.find(id))));
    const left = targets.filter((_, index) => isLeft[index]);
    const made = await own.create(left.flatMap(({ spec }) => spec ?? []));
    return { targets: left.map(({ spec, id = made.shift()?.id, ...rest }) => ({ id, ...rest })) };
  },
  issues({ targets = [] }, values) {
    if (targets.length === 0) return [];
    const known = profileNames(values);
    return targets.flatMap(({ id, profile }) => {
      if (known.has(profile)) return [];
      return `Multistream target ${id} wants the profile "${profile}", which this stream no longer has. Choose another profile.`;
    });
  },
});

async function problemsOf(
  targets: Entries,
  { principal, values, former, kit }: FieldChange<MultistreamKit>,
): Promise<string[]> {
  const own = targetsOf(principal, kit);
  const profiles = profileNames(values);
  // A client may send back what it read although a target was deleted since. `prepare` leaves that one out.
  const known = new Set((former.multistream as Multistream).targets?.map(({ id }) => id));
  const seen = new Set<string>();
  const problems: string[] = [];
  for (const [index, { id, spec, profile }] of targets.entries()) {
    const wrong = (what: string) => problems.push(`multistream.targets.${index}: ${what}`);
    if ((id === undefined) === (spec === undefined)) wrong('expected exactly one of id and spec');
    if (!profiles.has(profile)) {
      wrong(`this stream has no profile "${profile}"; it has ${[...profiles].join(', ')}`);
    }
    if (id === undefined) continue;
    if (!known.has(id) && !(await own.find(id))) wrong(`there is no multistream target ${id}`);
    const pair = JSON.stringify([id, profile]);
    if (seen.has(pair)) wrong(`the target ${id} with the profile "${profile}" is listed twice`);
    seen.add(pair);
  }
  return problems;
}

/** What can be pushed: the source, and renditions if their plugin is on. */
function profileNames(values: Readonly<Record<string, unknown>>): Set<string> {
  const profiles = (values[profilesField] ?? []) as readonly Profile[];
  return new Set(['source', ...profiles.map(({ name }) => name)]);
}
