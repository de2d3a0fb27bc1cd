import { cidr } from '../../core/base/cidr.ts';

/** What a block of addresses has in the database. */
export type MmdbRecord = Readonly<Record<string, unknown>>;

/**
 * A database in MaxMind DB format 2.0: a tree of 24-bit records over IPv6, with IPv4 below ::/96, then the data, then
 * the metadata. Blocks must not overlap.
 */
export function mmdb(blocks: Readonly<Record<string, MmdbRecord>>): Buffer {
  type Side = Node | { offset: number } | undefined;
  interface Node {
    sides: [Side, Side];
  }
  const root: Node = { sides: [undefined, undefined] };
  const data: Buffer[] = [];
  let length = 0;
  for (const [text, record] of Object.entries(blocks)) {
    const block = cidr(text);
    if (!block || block.prefix === '') throw new Error(`not a block: ${text}`);
    const bits = (block.family === 4 ? '0'.repeat(96) : '') + block.prefix;
    let node = root;
    for (const bit of bits.slice(0, -1)) {
      const next = (node.sides[Number(bit)] as Node | undefined) ?? { sides: [undefined, undefined] };
      node.sides[Number(bit)] = next as Node;
      node = next as Node;
    }
    node.sides[Number(bits.at(-1))] = { offset: length };
    const bytes = encode(record);
    data.push(bytes);
    length += bytes.length;
  }

  const nodes: Node[] = [];
  const numbers = new Map<Node, number>();
  const visit = (node: Node) => {
    numbers.set(node, nodes.length);
    nodes.push(node);
    for (const side of node.sides) if (side && 'sides' in side) visit(side);
  };
  visit(root);
  const tree = Buffer.alloc(nodes.length * 6);
  for (const [index, { sides }] of nodes.entries()) {
    for (const [place, side] of sides.entries()) {
      const value =
        side === undefined
          ? nodes.length
          : 'sides' in side
            ? (numbers.get(side) as number)
            : nodes.length + 16 + side.offset;
      tree.writeUIntBE(value, index * 6 + place * 3, 3);
    }
  }
  const metadata = encode({
    binary_format_major_version: whole(2),
    binary_format_minor_version: whole(0),
    build_epoch: whole(1_790_000_000),
    database_type: 'Test-City',
    description: { en: 'made by a test' },
    ip_version: whole(6),
    languages: ['en'],
    node_count: whole(nodes.length),
    record_size: whole(24),
  });
  return Buffer.concat([
    tree,
    Buffer.alloc(16),
    ...data,
    Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'),
    metadata,
  ]);
}

interface Whole {
  readonly whole: number;
}

function whole(value: number): Whole {
  return { whole: value };
}

/** Section "Output Data Section" of the format: a control byte with type and size, then the value. */
function encode(value: unknown): Buffer {
  if (typeof value === 'string')
    return Buffer.concat([control(2, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    return Buffer.concat([control(3, 8), bytes]);
  }
  if (Array.isArray(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)]);
  if (typeof (value as Whole).whole === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE((value as Whole).whole);
    return Buffer.concat([control(6, 4), bytes]);
  }
  const entries = Object.entries(value as object);
  return Buffer.concat([
    control(7, entries.length),
    ...entries.flatMap(([name, inner]) => [encode(name), encode(inner)]),
  ]);
}

function control(type: number, size: number): Buffer {
  if (size > 28) throw new Error('only small values are written here');
  return type > 7 ? Buffer.from([size, type - 7]) : Buffer.from([(type << 5) | size]);
}
