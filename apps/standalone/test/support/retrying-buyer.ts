import { MarketplaceError, type HttpAnswer } from '@market/sdk';
import { setTimeout as delay } from 'node:timers/promises';
import { bodyOf, resultOf, withRelayId } from './buyer.js';
import type { Agent } from './harness.js';

/** One purchase and every answer to its requests. */
export interface Purchase {
  readonly body: object;
  relayRequestId?: string;
  /** The text of every 200 that says it is billable. */
  readonly delivered: string[];
}

const PAUSE_MS = 100;
/** The seller of these tests answers immediately, so a longer request waits for a process that has ended. */
const TIMEOUT_MS = 5_000;

/**
 * A buyer that repeats lost or deferred requests with the same payment until it is answered, and records every status.
 * A real client need not do more.
 */
export class RetryingBuyer {
  readonly statuses = new Map<number, number>();
  private isStopped = false;

  constructor(
    private readonly agent: Agent,
    private readonly listing: { id: string },
    private readonly giveUpAfterMs = 120_000,
  ) {}

  /** Makes one call and repeats it until it is answered. @throws if there is no answer in time. */
  async buy(body: object): Promise<Purchase> {
    const purchase: Purchase = { body, delivered: [] };
    const quoted = await this.until(
      'an offer',
      () => this.call(body),
      (answer) => answer.status === 402,
    );
    const relayRequestId = (bodyOf(quoted).data as { payment: { relay_request_id: string } }).payment.relay_request_id;
    purchase.relayRequestId = relayRequestId;
    await this.until(
      'the payment',
      () => this.agent.market.send('POST', `/sandbox/payments/${relayRequestId}/pay`, { timeoutMs: TIMEOUT_MS }),
      (answer) => answer.status === 200,
    );
    await this.ask(purchase);
    return purchase;
  }

  /** Stops repeating requests. */
  rest(): void {
    this.isStopped = true;
  }

  /** Repeats a paid call until it is answered. */
  async ask(purchase: Purchase): Promise<void> {
    const delivered = (answer: HttpAnswer): boolean => answer.status === 200 && resultOf(answer).billable;
    const answer = await this.until(
      'the answer',
      () => this.call(purchase.body, withRelayId(purchase.relayRequestId!)),
      delivered,
    );
    purchase.delivered.push(answer.text);
  }

  private call(body: object, headers?: Record<string, string>): Promise<HttpAnswer> {
    return this.agent.market.send('POST', `/gateway/${this.listing.id}`, {
      rawBody: JSON.stringify(body),
      headers,
      timeoutMs: TIMEOUT_MS,
    });
  }

  private until(
    what: string,
    request: () => Promise<HttpAnswer>,
    isDone: (answer: HttpAnswer) => boolean,
  ): Promise<HttpAnswer> {
    const noted = async (): Promise<HttpAnswer> => {
      const answer = await request();
      this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
      return answer;
    };
    return retryUntil(what, noted, isDone, { giveUpAfterMs: this.giveUpAfterMs, isStopped: () => this.isStopped });
  }
}

/** Repeats a request that was lost or deferred until its answer is accepted. @throws Error when none is accepted in time. */
export async function retryUntil(
  what: string,
  request: () => Promise<HttpAnswer>,
  isDone: (answer: HttpAnswer) => boolean,
  { giveUpAfterMs = 120_000, isStopped = () => false }: { giveUpAfterMs?: number; isStopped?: () => boolean } = {},
): Promise<HttpAnswer> {
  const deadline = Date.now() + giveUpAfterMs;
  let last: unknown;
  while (Date.now() < deadline && !isStopped()) {
    try {
      const answer = await request();
      if (isDone(answer)) return answer;
      if (![200, 202, 429, 503].includes(answer.status))
        throw new Error(`waiting for ${what}, ${answer.status} is no answer to wait on: ${answer.text}`);
      last = answer.text;
    } catch (error) {
      if (!(error instanceof MarketplaceError)) throw error;
      last = error.message;
    }
    await delay(PAUSE_MS);
  }
  throw new Error(`${what} did not come within ${giveUpAfterMs} ms; last: ${String(last)}`);
}
