import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { addressOf, type Shot } from '../load.js';
import { Answers } from './answers.js';

const TRIES = 60;

/** Calls that are paid for. Each is repeated until it is delivered, as its client would repeat it. */
export class PaidCalls {
  private readonly pool: Pool;
  private next = 0;
  private sent = 0;
  private waiting = 0;
  delivered = 0;

  /** @param clients the number of calls that may be under way at once. */
  constructor(
    baseUrl: string,
    private readonly clients: number,
    private readonly calls: Shot[],
  ) {
    this.pool = new Pool(baseUrl, { connections: clients, pipelining: 1 });
  }

  /** Opens a connection for each client, so that opening it is not measured. */
  async connect(): Promise<void> {
    const openConnection = async (_: unknown, client: number): Promise<void> => {
      const { body } = await this.pool.request({
        method: 'GET',
        path: '/api/v1/health',
        headers: { 'x-forwarded-for': addressOf(client) },
      });
      await body.dump();
    };
    await Promise.all(Array.from({ length: this.clients }, openConnection));
  }

  /** Sends the call with the oldest attempt. @returns false if all clients wait, or no call is left. */
  async sendNext(answers: Answers): Promise<boolean> {
    const call = this.calls[this.next];
    if (!call || this.waiting >= this.clients) return false;
    this.next += 1;
    this.waiting += 1;
    const sentAt = performance.now();
    const { statusCode, headers, body } = await this.pool.request({
      method: call.method,
      path: call.path,
      body: call.body,
      headers: { 'x-forwarded-for': addressOf(this.sent++), ...call.headers },
    });
    const text = await body.text();
    this.waiting -= 1;
    answers.add(statusCode, headers, performance.now() - sentAt, statusCode === 429 ? reasonOf(text) : undefined);
    if (statusCode === 200) this.delivered += 1;
    else this.calls.push(call);
    return true;
  }

  /** Sends the remaining calls over this many connections until all are delivered. */
  async sendAll(connections: number): Promise<void> {
    for (let attempt = 0; attempt < TRIES && this.next < this.calls.length; attempt += 1) {
      const end = this.calls.length;
      const worker = async (): Promise<void> => {
        while (this.next < end) await this.sendNext(new Answers());
      };
      await Promise.all(Array.from({ length: connections }, worker));
      if (this.next < this.calls.length) await delay(1_000);
    }
    await this.pool.close();
  }
}

const reasonOf = (text: string): string =>
  (JSON.parse(text) as { error: { details: { reason: string } } }).error.details.reason;
