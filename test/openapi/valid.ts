import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';

/**
 * What is wrong with a document: by the schema that the OpenAPI Initiative publishes for 3.1, by that of JSON Schema 2020-12 for
 * each schema in it, and by rules that no schema can express. Empty when it is valid.
 */
export async function documentProblems(document: object): Promise<string[]> {
  const plain = JSON.parse(JSON.stringify(document)) as Described;
  const { valid, errors } = await validator.validate({ ...structuredClone(plain) });
  return [
    ...(valid ? [] : [`OpenAPI 3.1: ${JSON.stringify(errors)}`]),
    ...schemaProblems(plain),
    ...ruleProblems(plain),
  ];
}

/** Compiles the schemas once. */
const validator = new Validator();

interface Described {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly tags: readonly { readonly name: string }[];
  readonly components: {
    readonly schemas: Record<string, object>;
    readonly responses: Record<string, object>;
  };
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}

function schemaProblems(document: Described): string[] {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const problems: string[] = [];
  const visit = (node: unknown, at: string) => {
    if (node === null || typeof node !== 'object') return;
    for (const [name, value] of Object.entries(node)) {
      const here = `${at}/${name}`;
      const isSchema = name === 'schema' || at === '/components/schemas';
      if (!isSchema) visit(value, here);
      else if (!ajv.validateSchema(value)) problems.push(`${here}: ${ajv.errorsText(ajv.errors)}`);
    }
  };
  visit(document, '');
  return problems;
}

function ruleProblems({ paths, tags, components }: Described): string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  const used = JSON.stringify(paths) + JSON.stringify(components);
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { operationId, tags: own, parameters = [] }] of Object.entries(methods)) {
      const at = `${method} ${path}`;
      if (ids.has(operationId)) problems.push(`${at}: operationId ${operationId} is there twice`);
      ids.add(operationId);
      for (const tag of own) {
        if (!tags.some(({ name }) => name === tag)) problems.push(`${at}: the tag ${tag} is not declared`);
      }
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const named = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
      if (inPath.toSorted().join() !== named.toSorted().join()) {
        problems.push(`${at}: its path parameters are ${named.join()}`);
      }
    }
  }
  for (const [kind, all] of Object.entries({
    schemas: components.schemas,
    responses: components.responses,
  })) {
    for (const name of Object.keys(all)) {
      const isUsed = used.includes(`"#/components/${kind}/${name}"`);
      if (!isUsed) problems.push(`${kind}/${name} is used by nothing`);
    }
  }
  return problems;
}
