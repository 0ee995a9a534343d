import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { timed } from '../metrics.js';
import type { ExactPayload, ExactRequirements } from './exact-payment.js';
import { NotTakenError, type Facilitator, type Reserve, type Settlement, type Verification } from './facilitator.js';

/** A verification, and the facilitator that made it. */
export type Verified = Verification & { facilitator: string };

/** What is known of a signature that is to be settled. */
export interface Submission {
  feeMicros: bigint;
  /** The only facilitator that may have the signature; null if none may. */
  holder: string | null;
  /** Whether an earlier attempt may have given it to the holder. */
  wasHandedIn: boolean;
  /** Stores which facilitator may have the signature from now on. */
  give(facilitator: string | null): Promise<void>;
  /** Whether the chain says that the authorization was not used; false if no chain can be asked. */
  isUnused(): Promise<boolean>;
}

/** For how long a facilitator that did not do its work is asked after the others. */
const ASIDE_MS = 10_000;

/** What a facilitator says of a payment that it does not take, whoever signed it. */
const isElsewhere = (reason: string): boolean => /^(unsupported_|invalid_(network|scheme|x402_version)$)/.test(reason);

/**
 * The facilitators of each network in the operator's order. Any of them may verify a signature. One of them settles it: a
 * second one gets a signature only after the first certainly did not take it, and the books say who may have it before
 * it is handed in.
 */
export class Facilitators {
  private readonly logger = new Logger('Facilitators');
  private readonly asideUntil = new Map<Facilitator, number>();

  constructor(private readonly orderOf: (network: string) => Facilitator[]) {}

  /** Reads again what the facilitators of these networks can settle. */
  async readReserves(networks: Iterable<string>): Promise<Reserve[]> {
    const facilitators = new Set([...networks].flatMap((network) => this.orderOf(network)));
    return (await Promise.all([...facilitators].map((each) => each.readReserves()))).flat();
  }

  /** Why nothing can be settled on a network now, as far as is known; undefined if something can. */
  problemOn(network: string): string | undefined {
    const problems = this.orderOf(network).map((each) => each.problemOn(network));
    return problems.includes(undefined) ? undefined : problems.join('; ');
  }

  /**
   * The account that pays the fees of transactions on a Solana network; null while it is not known. A signature names it,
   * so that one of a facilitator that does not answer would buy nothing.
   */
  feePayerOf(network: string): string | null {
    const accounts = this.inOrder(network, this.orderOf(network))
      .map((each) => ({ account: each.feePayerOf(network), isSilent: each.isSilent }))
      .filter(({ account }) => account !== null);
    return (accounts.find(({ isSilent }) => !isSilent) ?? accounts[0])?.account ?? null;
  }

  /** The account by which `upto` payments are settled on a network; null if nobody settles them. */
  uptoAddressOf(network: string): string | null {
    const accounts = this.inOrder(network, this.orderOf(network)).map((each) => each.uptoAddressOf(network));
    return accounts.find((account) => account !== null) ?? null;
  }

  /**
   * The first usable answer. Each facilitator has an equal share of the time before the next one is asked, too.
   * @throws Error of the last one if none answers in time.
   */
  async verify(
    payload: ExactPayload,
    requirements: ExactRequirements,
    feeMicros: bigint,
    withinMs: number,
  ): Promise<Verified> {
    const order = this.ableTo(requirements);
    const until = Date.now() + withinMs;
    const answers: Promise<Verified>[] = [];
    for (const [index, facilitator] of order.entries()) {
      const isLast = index === order.length - 1;
      const answer = this.ask(facilitator, 'verify', until - Date.now(), async () => {
        const verified = await facilitator.verify(payload, requirements, feeMicros);
        if (!isLast && !verified.valid && isElsewhere(verified.reason)) throw new Error(verified.reason);
        return { ...verified, facilitator: facilitator.id };
      });
      answers.push(answer);
      if (isLast) break;
      const first = await Promise.race([
        Promise.any(answers).catch(() => undefined),
        answer.catch(() => undefined),
        delay(withinMs / order.length, undefined, { ref: false }),
      ]);
      if (first) return first;
      this.setAside(facilitator);
    }
    return Promise.any(answers).catch((error: AggregateError) => {
      throw error.errors.at(-1);
    });
  }

  /** @throws Error if the outcome is not certain, or nobody took the signature. */
  async settle(
    payload: ExactPayload,
    requirements: ExactRequirements,
    { feeMicros, holder, wasHandedIn, give, isUnused }: Submission,
  ): Promise<Settlement> {
    const mayBeTaken = holder !== null && wasHandedIn;
    const order = this.toSettle(requirements, holder, mayBeTaken);
    let known = holder;
    for (const [index, facilitator] of order.entries()) {
      const isLast = index === order.length - 1;
      if (facilitator.id !== known) await give((known = facilitator.id));
      try {
        const outcome = await this.ask(facilitator, 'settle', undefined, () =>
          facilitator.settle(payload, requirements, feeMicros),
        );
        if (outcome.settled || isLast || !isElsewhere(outcome.reason) || !(await isUnused())) return outcome;
      } catch (error) {
        if (mayBeTaken || !(error instanceof NotTakenError)) throw error;
        if (error.because === 'declined' && !(await isUnused())) throw error;
        if (!isLast) continue;
        await give(null);
        throw error;
      }
    }
    throw new Error(`nobody settles exact payments on ${requirements.network}`);
  }

  /** Those that can settle these requirements, the holder of the signature first, or alone if it may have taken it. */
  private toSettle(requirements: ExactRequirements, holder: string | null, mayBeTaken: boolean): Facilitator[] {
    if (holder === null) return this.ableTo(requirements);
    const first = this.orderOf(requirements.network).find(({ id }) => id === holder);
    if (!first && mayBeTaken)
      throw new Error(`the facilitator ${holder} may have taken it, and settles on ${requirements.network} no more`);
    if (!first) return this.ableTo(requirements);
    return mayBeTaken ? [first] : [first, ...this.ableTo(requirements).filter((each) => each !== first)];
  }

  /**
   * A signature on Solana, or for `upto`, names an account, so only that account's facilitator settles it. While nobody says
   * that the account is its own, it may be that of one that says nothing.
   */
  private ableTo({ network, extra: { feePayer, facilitatorAddress } }: ExactRequirements): Facilitator[] {
    const all = this.orderOf(network);
    if (feePayer === undefined && facilitatorAddress === undefined) return this.inOrder(network, all);
    const [named, unknown] =
      feePayer === undefined
        ? [
            all.filter((each) => each.settlesUptoAs(facilitatorAddress!, network)),
            all.filter((each) => each.uptoAddressOf(network) === null),
          ]
        : [
            all.filter((each) => each.paysFeesAs(feePayer, network)),
            all.filter((each) => each.feePayerOf(network) === null),
          ];
    return this.inOrder(network, [named, unknown, all].find(({ length }) => length > 0) ?? []);
  }

  /** Those that can do nothing now are left out if there are others, and those that were set aside come last. */
  private inOrder(network: string, facilitators: Facilitator[]): Facilitator[] {
    const open = facilitators.filter((each) => each.problemOn(network) === undefined);
    const isAside = (each: Facilitator): number => Number((this.asideUntil.get(each) ?? 0) > Date.now());
    return (open.length > 0 ? open : facilitators).toSorted((a, b) => isAside(a) - isAside(b));
  }

  private async ask<T>(
    facilitator: Facilitator,
    operation: 'verify' | 'settle',
    withinMs: number | undefined,
    request: () => Promise<T>,
  ): Promise<T> {
    try {
      const answer = await timed('facilitator', operation, () =>
        withinMs === undefined ? request() : inTime(request(), withinMs),
      );
      this.asideUntil.delete(facilitator);
      return answer;
    } catch (error) {
      this.setAside(facilitator);
      throw error;
    }
  }

  private setAside(facilitator: Facilitator): void {
    if (!this.asideUntil.has(facilitator)) this.logger.warn(`the facilitator ${facilitator.id} does not do its work`);
    this.asideUntil.set(facilitator, Date.now() + ASIDE_MS);
  }
}

function inTime<T>(answer: Promise<T>, withinMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), withinMs).unref();
  });
  return Promise.race([answer, tooLate]).finally(() => clearTimeout(timer));
}
