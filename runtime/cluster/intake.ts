import { Fault } from '../../core/base/fault.ts';
import { thaw } from '../../core/plugin/step.ts';
import type { LogRecord } from '../../core/ports/bus.ts';
import { idOf, partitionOf } from '../actors/actor-name.ts';
import { refusals } from '../actors/refusals.ts';
import { viewOf } from '../actors/step-commit.ts';
import { type Answer, faultData, mistake, unknownOutcome } from './answer.ts';
import { type ActorCommand, type Command, parsedCommand } from './command.ts';
import type { Deadlines } from './deadlines.ts';
import { decision } from './decision.ts';
import { KnownCommands } from './known-commands.ts';
import { clusterLimits } from './limits.ts';
import type { Judge, PartitionParts } from './parts.ts';
import { isWorthTelling, retried } from './retried.ts';
import type { Steps } from './steps.ts';

/**
 * Takes the records of a partition one after the other: each becomes a step, an answer for which nothing changes, or is
 * buried. None of them can keep the partition from going on.
 */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #known = new KnownCommands(clusterLimits.repeats);

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** It was taken before, by whoever had the partition: only a copy of it must be known. */
  passed(record: LogRecord): void {
    const command = parsedCommand(record.value);
    if (!('problem' in command)) this.#known.saw(command.id, record.offset);
  }

  /** Reads what these need, side by side, and takes them in order until told to stop. */
  async take(records: readonly LogRecord[], isOver: () => boolean): Promise<void> {
    const { steps } = this.#options;
    const read = records.map((record) => ({ record, command: parsedCommand(record.value) }));
    await steps.readAhead(
      read.flatMap(({ record, command }) => ('type' in command && command.type !== 'mark' ? record.key : [])),
      read.flatMap(({ command }) => ('cause' in command ? (command.cause ?? []) : [])),
    );
    for (const { record, command } of read) {
      if (isOver()) return;
      if ('problem' in command) await this.#bury(record, command.problem);
      else await this.#takeOne(record, command);
      if (steps.seen < record.offset) steps.saw(record.offset);
    }
  }

  async #takeOne(record: LogRecord, command: Command): Promise<void> {
    const { signal, parts } = this.#options;
    const { offset, key: actor } = record;
    const isCopy = this.#known.isCopy(command.id, offset);
    this.#known.saw(command.id, offset);
    try {
      if (command.type === 'mark') await this.#answer(record, { command, answer: { outcome: 'ok' } });
      else if (isCopy) await this.#answerCopy(record, command);
      else await this.#decide(record, command);
    } catch (error) {
      signal.throwIfAborted();
      parts.log.error('a command failed by a mistake of ours', { actor, offset, error });
      await this.#refuse(record, { command, why: String(error) });
    }
  }

  async #decide(record: LogRecord, command: ActorCommand): Promise<void> {
    const { parts, judge, steps } = this.#options;
    const { types, counts, partition, partitions } = parts;
    const { key: actor, at, offset } = record;
    if (partitionOf(idOf(actor), partitions) !== partition) {
      return this.#refuse(record, { command, why: 'its actor is of another partition' });
    }
    // A node without the plugin cannot know what to do, and all of them are to have the same ones.
    if (!types.knows(actor)) {
      return this.#refuse(record, { command, why: 'no enabled plugin has actors of this type' });
    }
    const verdict = judge.verdict(offset);
    if (verdict?.code === mistake.code)
      return this.#refuse(record, { command, why: 'it could not be stored' });
    const fault = verdict ?? (await this.#runDue(record, command));
    if (fault) return this.#answer(record, { command, answer: { fault } });
    const entry = types.of(actor);
    const state = await steps.state(actor, entry);
    const isRepeat = command.cause !== undefined && steps.isConsumed(command.cause);
    const decided = decision(entry, { actor, command, state, at, isRepeat });
    if ('answer' in decided) {
      counts?.count(entry.type.type, isRepeat ? 'duplicate' : 'refused');
      return this.#answer(record, { command, answer: decided.answer });
    }
    await this.#send(record, { command, decided });
  }

  /** What was due before it. Why the command cannot be taken, if it cannot: the queue of a timer's job is full. */
  async #runDue({ key: actor, at }: LogRecord, { type }: Command) {
    const { steps, deadlines } = this.#options;
    try {
      await deadlines.run(actor, { until: at, steps });
    } catch (error) {
      // A timer that a bug keeps from running must not shut out commands as well, nor a full queue a job that leaves it.
      if (error instanceof Fault && type !== 'result') return faultData(error);
      deadlines.failed(actor, error);
    }
    return undefined;
  }

  async #send(
    record: LogRecord,
    {
      command,
      decided,
    }: { command: Command; decided: Extract<ReturnType<typeof decision>, { step: unknown }> },
  ): Promise<void> {
    const { parts, judge, steps, deadlines } = this.#options;
    const { key: actor, at, offset } = record;
    const isResult = command.type === 'result';
    const answer: Answer = isResult ? { outcome: 'ok' } : { view: viewOf(decided.step.snapshot) };
    try {
      await steps.send(parts.types.of(actor), {
        ...{ ...decided, actor, at, isResult, to: offset, trouble: offset },
        cause: command.cause ?? `m${parts.partition}.${offset}`,
        isCause: command.cause === undefined,
        onSent: (sent) => {
          steps.saw(offset);
          this.#known.answered(command.id, answer);
          deadlines.stepped(actor, sent);
        },
        onStored: () => this.#tell(command, answer),
        onRefused: (outcome) => {
          if (outcome === 'duplicate') void this.#tellRepeat(actor, command);
          // The id was used before: by an actor that has ended, which cannot be read.
          if (outcome === 'conflict' && command.type === 'spawn')
            judge.condemn(offset, faultData(refusals.exists(actor)));
        },
      });
    } catch (error) {
      // Its jobs cannot be taken.
      if (!(error instanceof Fault)) throw error;
      await this.#answer(record, { command, answer: { fault: faultData(error) } });
    }
  }

  /**
   * Tells it when everything before is stored, and that the record is passed: an owner that is one no more, and may have
   * read what the next one wrote, refuses nobody, and what was refused is not done by a later reading of the log.
   */
  async #answer(
    { offset }: LogRecord,
    { command, answer }: { command: Command; answer: Answer },
  ): Promise<void> {
    const { steps } = this.#options;
    this.#known.answered(command.id, answer);
    if (steps.seen < offset) steps.saw(offset);
    await steps.afterwards(() => this.#tell(command, answer), { isPassed: true });
  }

  async #answerCopy({ key: actor }: LogRecord, command: ActorCommand): Promise<void> {
    const { parts, steps } = this.#options;
    const refusal = this.#known.refusalOf(command.id);
    const isKnown = !refusal && parts.types.knows(actor);
    const state = isKnown ? await steps.state(actor, parts.types.of(actor)) : undefined;
    let answer: Answer = { fault: refusal ?? unknownOutcome };
    if (!refusal && command.type === 'result') answer = { outcome: 'ok' };
    else if (state) answer = { view: viewOf(state.snapshot) };
    await steps.afterwards(() => this.#tell(command, answer));
  }

  /** Its cause was consumed after all, and its place on the log is passed: it will not come again. */
  async #tellRepeat(actor: string, command: Command): Promise<void> {
    const { store, types, log, partition } = this.#options.parts;
    try {
      const stored = await store.load(actor, partition);
      const isThere = stored && command.type === 'ask';
      const view = isThere && viewOf(thaw(types.of(actor).type, stored));
      this.#tell(command, view ? { view } : { fault: unknownOutcome });
    } catch (error) {
      log.warn('a repeated command could not be answered', { actor, error });
    }
  }

  async #refuse(record: LogRecord, { command, why }: { command: Command; why: string }): Promise<void> {
    await this.#bury(record, why);
    await this.#answer(record, { command, answer: { fault: mistake } });
  }

  /** Puts it where a person finds it. The partition goes on without it. */
  async #bury(record: LogRecord, why: string): Promise<void> {
    const { parts, signal } = this.#options;
    const { bus, clock, log, partition, onBuried } = parts;
    const { offset, key } = record;
    log.error('a command is buried', { partition, offset, key, why });
    await retried(() => bus.bury(record, why), {
      clock,
      signal,
      onFailure: (error, tries) => {
        if (isWorthTelling(tries))
          log.error('a command could not be buried; it is tried again', { partition, offset, error });
      },
    });
    signal.throwIfAborted();
    onBuried();
  }

  #tell({ id, replyTo }: Command, answer: Answer): void {
    this.#options.parts.mail.answer(replyTo, { id, answer });
  }
}

interface IntakeOptions {
  readonly parts: PartitionParts;
  readonly judge: Judge;
  readonly steps: Steps;
  readonly deadlines: Deadlines;
  readonly signal: AbortSignal;
}
