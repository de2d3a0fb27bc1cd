import { type Block, type BlockForm, type FileNode, nodeOf } from './block.ts';

/**
 * The nodes above the leaves of a file, balanced: each has as many links as it may, but the last of its level, and every leaf is
 * equally deep. Memory: the links of one unfinished node for each level.
 */
export class FileDag {
  readonly #form: BlockForm;
  readonly #links: number;
  readonly #write: (block: Block) => void;
  /** Of each level, from the leaves up, those that have no parent yet. */
  readonly #levels: FileNode[][] = [];

  /** @param options.links of a node, at most */
  constructor(form: BlockForm, options: { links: number; write: (block: Block) => void }) {
    this.#form = form;
    this.#links = options.links;
    this.#write = options.write;
  }

  /** Leaves, in their order. */
  add(leaf: FileNode): void {
    this.#put(leaf, 0);
  }

  /** The root: of one leaf it is the leaf. */
  end(): FileNode {
    for (let level = 0; ; level += 1) {
      const nodes = this.#levels[level] ?? [];
      if (level + 1 >= this.#levels.length && nodes.length === 1) return nodes[0];
      if (nodes.length > 0) this.#join(level);
    }
  }

  #put(node: FileNode, level: number): void {
    this.#levels[level] ??= [];
    this.#levels[level].push(node);
    if (this.#levels[level].length === this.#links) this.#join(level);
  }

  #join(level: number): void {
    const { node, block } = nodeOf(this.#levels[level], this.#form);
    this.#levels[level] = [];
    this.#write(block);
    this.#put(node, level + 1);
  }
}
