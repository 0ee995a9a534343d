import { UNITS_HEADER } from '@market/contracts/gateway';
import { UnavailableError, unitsFrom } from '@market/kernel';
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { errors, type Dispatcher } from 'undici';
import { parseJson } from '../canonical/parse-json.js';
import { BrokenStream, type AnswerReceiver } from './answer-receiver.js';
import type { Deadline } from './deadline.js';
import type { SellerHandler } from './seller-connections.js';
import { ForbiddenAddress } from './seller-dialer.js';
import type { SellerAccepted, SellerAnswered, SellerFailed, SellerFailureReason } from './seller-outcome.js';

type WithoutLatency<Outcome> = Outcome extends unknown ? Omit<Outcome, 'latencyMs'> : never;

export interface SellerResult {
  outcome: WithoutLatency<SellerAnswered> | WithoutLatency<SellerFailed> | WithoutLatency<SellerAccepted>;
  /** Whether the answer was complete, so that its connection may carry another exchange. */
  reusable: boolean;
  /** Whether the seller closed the connection after the request was sent, without one byte of an answer. */
  isSilent?: true;
}

const maxHeaders = 100;
/** The maximum number of 1xx answers, because each would keep the exchange alive. */
const maxInformational = 8;
const noBytes = Buffer.alloc(0);
/** Errors of a process or machine without free sockets, which are not the seller's fault. */
const outOfSockets = new Set(['EMFILE', 'ENFILE', 'ENOBUFS']);

/** Errors of a connection that the other side closed. */
const closed = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Reads one answer as it arrives, and resolves as soon as the result is certain. */
export class SellerExchange implements SellerHandler {
  private informational = 0;
  private connected = false;
  private started = false;
  private statusCode = 0;
  private body: Buffer = noBytes;
  private size = 0;
  private over = false;
  /** The answer says that the seller works on the call. */
  private isAccepted = false;
  private retryAfter: number | undefined;
  private units: number | undefined;
  /** Takes the answer if it is a file or a stream. */
  private receiver: AnswerReceiver | undefined;

  /**
   * Rejects only for errors of the gateway: a request that is not valid HTTP, or no free socket (`UnavailableError`).
   */
  readonly result: Promise<SellerResult>;
  private resolve!: (result: SellerResult) => void;
  private reject!: (error: Error) => void;

  /**
   * @param deadline ends the exchange, and is set anew while a stream comes.
   * @param receivers takes answers that are files or streams; without it there are none.
   * @param isPoll the seller is asked whether it has done a job, and 202 says not yet.
   */
  constructor(
    private maxResponseBytes: number,
    private readonly deadline: Deadline,
    private readonly receivers?: AnswerReceiver,
    private readonly isPoll = false,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  fail(reason: SellerFailureReason, json: string | null = null, reusable = false, isSilent?: true): void {
    this.conclude({
      outcome: { kind: 'failed', reason, statusCode: this.failureStatus(reason), contact: this.contact(reason), json },
      reusable,
      isSilent,
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // If the exchange was aborted in the same turn in which it was connected, nothing may be sent.
    if (this.over) controller.abort(new errors.RequestAbortedError());
    else this.connected = true;
  }

  onResponseStarted(): void {
    this.started = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (this.over) return;
    if ((controller.rawHeaders as readonly unknown[]).length > 2 * maxHeaders) return this.fail('protocol_error');
    if (statusCode < 200) {
      if (++this.informational > maxInformational) this.fail('protocol_error');
      return;
    }
    this.statusCode = statusCode;
    // Repeated headers arrive as an array, although the type does not include it.
    const encoding = String(headers['content-encoding'] ?? 'identity');
    if (encoding.toLowerCase() !== 'identity') return this.refuse('not_json');
    this.isAccepted = statusCode === 202 && (this.isPoll || headers['x-market-job'] === 'accepted');
    if (/^\d{1,6}$/.test(headers['retry-after'] ?? '')) this.retryAfter = Number(headers['retry-after']);
    this.units = unitsFrom(headers[UNITS_HEADER.toLowerCase()]);
    if (statusCode < 300 && !this.isAccepted && this.receivers?.takes(headers['content-type'])) {
      this.receiver = this.receivers;
      this.maxResponseBytes = this.receivers.maxBytes;
      // What only the closing of the connection ends may be half of it.
      if (!('content-length' in headers) && !/^chunked$/i.test(String(headers['transfer-encoding'])))
        return this.fail('protocol_error');
    }
    if (Number(headers['content-length']) > this.maxResponseBytes) this.refuse('too_large');
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.over) return;
    const left = this.maxResponseBytes - this.size;
    if (chunk.length > left) {
      // What fits of a stream has come.
      if (this.receiver?.isStream) this.receive(this.receiver, chunk.subarray(0, left), controller);
      return this.refuse('too_large');
    }
    if (this.receiver) this.receive(this.receiver, chunk, controller);
    else if (this.size === 0) this.body = chunk;
    else this.append(chunk);
    this.size += chunk.length;
  }

  onResponseEnd(): void {
    if (this.over) return;
    if (this.receiver && this.size > 0) return void this.endReceiver(this.receiver);
    const bytes = this.body.subarray(0, this.size);
    if (this.isAccepted) return this.accept(bytes.toString('utf8'));
    if (!isUtf8(bytes)) return this.refuse('not_json', true);
    const json = bytes.toString('utf8');
    const parsed = parseJson(json);
    if ('problem' in parsed) return this.refuse(parsed.problem === 'too_deep' ? 'too_deep' : 'not_json', true);
    if (this.statusCode < 300)
      this.conclude({
        outcome: { kind: 'answered', statusCode: this.statusCode, json, units: this.units },
        reusable: true,
      });
    else this.fail(this.reasonOfStatus() ?? 'seller_error', json, true);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError) this.reject(error);
    else if (outOfSockets.has((error as NodeJS.ErrnoException).code ?? ''))
      this.reject(new UnavailableError('a socket of the gateway', { cause: error }));
    else if (error instanceof ForbiddenAddress) this.fail('forbidden_address');
    else if (this.isStreaming) this.fail('broken_stream');
    else if (this.started) this.fail('protocol_error');
    else {
      const isClosed = closed.has((error as NodeJS.ErrnoException).code ?? '');
      this.fail('unreachable', null, false, (this.connected && isClosed) || undefined);
    }
  }

  /** What is no JSON is not read, because all that it could say is optional. */
  private accept(text: string): void {
    const json = 'problem' in parseJson(text) ? null : text;
    this.conclude({
      outcome: { kind: 'accepted', statusCode: 202, json, retryAfter: this.retryAfter },
      reusable: true,
    });
  }

  private get isStreaming(): boolean {
    return this.receiver?.timeLeftMs() !== undefined;
  }

  /** The seller sends no faster than its answer can be stored. Its time does not run while it has to wait. */
  private receive(receiver: AnswerReceiver, chunk: Buffer, controller: Dispatcher.DispatchController): void {
    let stored: Promise<void> | undefined;
    try {
      stored = receiver.write(chunk);
    } catch (error) {
      return this.failOf(error);
    }
    const go = (): void => {
      const leftMs = receiver.timeLeftMs();
      if (leftMs !== undefined) this.deadline.set(leftMs);
    };
    if (!stored) return go();
    controller.pause();
    if (this.isStreaming) this.deadline.clear();
    stored
      .then(() => {
        if (this.over) return;
        go();
        controller.resume();
      })
      .catch((error: unknown) => this.failOf(error));
  }

  private async endReceiver(receiver: AnswerReceiver): Promise<void> {
    if (this.isStreaming) this.deadline.clear();
    try {
      const content = await receiver.end();
      if (this.over) return;
      const { statusCode, units } = this;
      const outcome = { kind: 'answered', statusCode, json: null, content, units } as const;
      this.conclude({ outcome, reusable: true });
    } catch (error) {
      this.failOf(error);
    }
  }

  private failOf(error: unknown): void {
    if (error instanceof BrokenStream) this.fail('broken_stream');
    else this.reject(error as Error);
  }

  /** Copies into one growing buffer. A list of one-byte chunks would take a hundred times the size of the body. */
  private append(chunk: Buffer): void {
    const needed = this.size + chunk.length;
    if (needed > this.body.length) {
      const grown = Buffer.allocUnsafe(Math.min(Math.max(needed, 2 * this.size), this.maxResponseBytes));
      this.body.copy(grown, 0, 0, this.size);
      this.body = grown;
    }
    chunk.copy(this.body, this.size);
  }

  private refuse(reason: 'not_json' | 'too_large' | 'too_deep', reusable = false): void {
    this.fail(this.reasonOfStatus() ?? reason, null, reusable);
  }

  /** The failure reason of 3xx and 4xx depends only on the status. */
  private reasonOfStatus(): 'redirect' | 'seller_refused' | undefined {
    if (this.statusCode < 300 || this.statusCode >= 500) return undefined;
    return this.statusCode < 400 ? 'redirect' : 'seller_refused';
  }

  private failureStatus(reason: SellerFailureReason): number {
    if (reason === 'timeout') return 504;
    return this.statusCode >= 300 ? this.statusCode : 502;
  }

  private contact(reason: SellerFailureReason): SellerFailed['contact'] {
    if (!this.connected) return 'none';
    const isWhole = this.started && reason !== 'timeout' && reason !== 'protocol_error';
    return isWhole && this.statusCode < 500 ? 'answered' : 'broken';
  }

  private conclude(result: SellerResult): void {
    this.over = true;
    this.resolve(result);
  }
}
