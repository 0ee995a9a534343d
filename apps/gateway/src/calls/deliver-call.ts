import type { RequestContext } from '@market/messaging';
import type { Permit } from '@market/limits';
import { newRequestContext, traceIdOf } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { ContentReceiver } from '../contents/content-receiver.js';
import { Contents, mayAnswerWithContent, type ContentOwner } from '../contents/contents.js';
import type { StreamWriter } from '../contents/stream-writer.js';
import type {
  SellerAccepted,
  SellerAnswered,
  SellerFailed,
  SellerOutcome,
  SellerReply,
} from '../egress/seller-outcome.js';
import { SignedRequests } from '../egress/signed-requests.js';
import { CallableEndpoints, jobDeadlineOf, type CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { JobRecords, type Job } from '../jobs/job-records.js';
import { ActiveCalls } from './active-calls.js';
import { billableAnswer, failedAnswer, isCharged, jsonOfContent, moneyOfUse, OVER, OWED_BACK } from './answer-json.js';
import { BrokenStreams } from './broken-streams.js';
import type { Answer } from './call-output.js';
import { CallRecords, type AttemptedCall, type CallRecord, type Result, type StoredResult } from './call-records.js';
import { acceptedJobOf } from './accepted-job.js';
import { CallTime, countStep } from './metrics.js';
import { Money, type ChargeOutcome, type Collected, type CollectOutcome, type Transfer } from './money.js';
import { OpenStreams, type Open, type Streaming, type Working } from './open-streams.js';

/**
 * `answer` is the gateway result as JSON text, and `content` the file that belongs to it. If the settlement is unknown
 * or refused, the outcome has no answer, although the result may be stored.
 */
export type CallEnd =
  | ({ outcome: 'answered'; transfer?: Transfer } & Answer)
  | Exclude<ChargeOutcome, { outcome: 'charged' }>
  | Streaming
  | Working;

/** What the seller is asked, and what it may answer with. */
export interface AskedOfSeller {
  body: Buffer | string;
  contentType: string | undefined;
  formats: readonly string[] | undefined;
  /** The name of the lock of the call; null if it has none. */
  lockName: string | null;
}

/** The part of the caller's time that is reserved for storing and settling the seller's answer. */
export const SETTLE_BUDGET_MS = 10_000;
/** The time for what follows the end of a stream, whose request was answered long ago. */
const END_STREAM_MS = 30_000;
const SHOW_FORWARDING_AFTER_MS = 1_000;

/** The money of a stream's call cannot be had, so the stream ends before anybody has seen it. */
class NotCollected extends Error {
  constructor(readonly end: Exclude<CollectOutcome, { outcome: 'collected' }>) {
    super('a stream is not paid for');
  }
}

/**
 * Calls the seller, stores what it answered, and charges for it. The lock of the call is held. A stream is answered when
 * its first event has come and is paid for; the call then goes on until the seller ends it, and what has come is charged
 * for, or, if it broke off, owed back. A job ends the request of its call, and the call later, when it is delivered.
 */
@Injectable()
export class DeliverCall {
  private readonly logger = new Logger('Call');

  constructor(
    private readonly money: Money,
    private readonly records: CallRecords,
    private readonly broken: BrokenStreams,
    private readonly sellers: SignedRequests,
    private readonly endpoints: CallableEndpoints,
    private readonly activeCalls: ActiveCalls,
    private readonly contents: Contents,
    private readonly streams: OpenStreams,
    private readonly database: Database,
    private readonly jobs: JobRecords,
  ) {}

  async execute(
    call: AttemptedCall,
    target: CallableEndpoint,
    permit: Permit,
    asked: AskedOfSeller,
    open: Open<CallEnd>,
    context: RequestContext,
  ): Promise<CallEnd> {
    this.logStep('forwarded', call, context, { attempt: call.attempt });
    let receiver: ContentReceiver | undefined;
    // A free stream is read as long as somebody reads it.
    const left = new AbortController();
    const { stopping } = this.streams;
    const ends = call.payment ? stopping : AbortSignal.any([stopping, left.signal]);
    const startedAt = Date.now();
    try {
      const reply = await call.time.during('seller', () =>
        this.activeCalls.whileAtSeller((answered) => {
          const opening = (opened: CallEnd): void => {
            answered();
            open(opened);
          };
          receiver = this.receiverOf(call, target, asked, opening, left, context);
          return this.forward(call, target, asked, receiver, { ends, startedAt }, context);
        }),
      );
      // Another call may use it from now on.
      permit.release();
      if (reply.kind === 'accepted') return await this.accept(call, target, asked, reply, startedAt, context);
      const stream = receiver?.stream;
      const outcome = withUnits(call, reply, stream);
      if (!stream || !(await stream.hasOpened())) return await this.store(call, target, outcome, receiver, context);
      // What nobody has seen of a stream is no delivery, and its payment is good for another attempt.
      if (outcome.kind === 'failed' && !stream.isShown)
        return await this.store(call, target, outcome, receiver, laterContext(context));
      const ended = { ...outcome, latencyMs: stream.firstEventAt - startedAt };
      if (ended.kind === 'answered') return await this.store(call, target, ended, receiver, laterContext(context));
      if (!ends.aborted) return await this.storeBroken(stream, call, target, ended, laterContext(context));
      await stream.discard();
      return { outcome: 'unknown' };
    } catch (error) {
      if (!(error instanceof NotCollected)) throw error;
      await receiver?.discard();
      return error.end;
    } finally {
      receiver?.stream?.close();
    }
  }

  /**
   * Ends a call whose seller had taken it as a job, with what it delivered or with why it did not. The lock of the call is
   * held. @returns false if the call has ended before.
   */
  async endJob(job: Job, delivered: SellerOutcome, context: RequestContext): Promise<boolean> {
    const endpoint = (await this.endpoints.find(job.listingId))?.endpoint ?? {
      listingId: job.listingId,
      urlDigest: Buffer.alloc(32),
    };
    const call = toAttempted(job);
    const { payment } = call;
    const outcome = withUnits(call, delivered);
    if (outcome.kind === 'answered') {
      const result = resultOf(call, outcome);
      if (!(await this.records.storeDelivery({ ...atUse(call, result), ...result, endpoint }, context))) return false;
      this.logStep('stored', call, context, { seller_status: result.statusCode, seller_ms: result.latencyMs });
      if (!payment) return true;
      countStep('delivered');
      // Nobody waits for it, and if it cannot be settled now, the resume job goes on.
      await this.settle(call, result, context, true).catch((error: unknown) =>
        this.logger.warn(`job ${job.id} is settled later: ${String(error)}`),
      );
      return true;
    }
    this.logFailure(call, outcome, context);
    const { statusCode, latencyMs } = outcome;
    const answer = failedAnswer(
      job.id,
      outcome,
      job.money.feeBps,
      isCharged(payment) && !job.isHeld ? OWED_BACK : OVER,
    );
    const answerDigest = createHash('sha256')
      .update(outcome.json ?? 'null')
      .digest();
    const result = { answer, content: null, answerDigest, statusCode, latencyMs, units: null };
    if (!(await this.broken.store(call, endpoint, outcome, result, context))) return false;
    await this.oweBack(call, result, context);
    return true;
  }

  /** The seller works on the call. Its request ends, and its money is kept for the delivery, or is had first. */
  private async accept(
    call: AttemptedCall,
    target: CallableEndpoint,
    { formats = [] }: AskedOfSeller,
    accepted: SellerAccepted,
    forwardedAt: number,
    context: RequestContext,
  ): Promise<CallEnd> {
    const job = acceptedJobOf(accepted, target, formats, forwardedAt);
    if (!job) {
      const { latencyMs } = accepted;
      const reason = 'foreign_status_url';
      const foreign = { kind: 'failed', reason, statusCode: 502, contact: 'answered', json: null, latencyMs } as const;
      return this.store(call, target, foreign, undefined, context);
    }
    const { payment } = call;
    const collected = payment && (await this.money.collect(payment.paymentId, context, job.deadline));
    if (collected?.outcome === 'refused') return collected;
    const isHeld = collected?.outcome === 'collected' && collected.isHeld === true;
    await this.records.markForwarding(call, job.deadline.getTime() - Date.now());
    const isOpen = await this.database.transaction((tx) => this.jobs.open(tx, call, { ...job, isHeld }));
    if (!isOpen) return this.endAsEarlier(call, undefined, context);
    this.logStep('job', call, context, { attempt: call.attempt, deadline: job.deadline.toISOString() });
    if (collected?.outcome === 'unknown') return collected;
    const open = await this.jobs.findOpen(call.id);
    if (!open) return this.endAsEarlier(call, undefined, context);
    return { outcome: 'working', job: open, ...(collected?.transfer ? { transfer: collected.transfer } : {}) };
  }

  /** Ends a call that has a stored result. */
  end(call: AttemptedCall, result: StoredResult, context: RequestContext): Promise<CallEnd> {
    return result.isBroken ? this.oweBack(call, result, context) : this.settle(call, result, context);
  }

  private async store(
    call: AttemptedCall,
    target: CallableEndpoint,
    outcome: SellerOutcome,
    receiver: ContentReceiver | undefined,
    context: RequestContext,
  ): Promise<CallEnd> {
    const { id, money, payment } = call;
    if (outcome.kind === 'failed') {
      this.logFailure(call, outcome, context);
      await receiver?.discard();
      await this.records.storeFailure(call, target.endpoint, outcome, context);
      const isOwedBack = payment !== null && (await this.money.release(payment, true, context));
      const answer = failedAnswer(
        id,
        outcome,
        money.feeBps,
        isOwedBack ? OWED_BACK : isCharged(payment) ? payment?.retryUntil : undefined,
      );
      return { outcome: 'answered', answer, content: null };
    }
    const result = resultOf(call, outcome, receiver);
    const { statusCode, latencyMs } = result;
    if (!(await this.records.storeDelivery({ ...atUse(call, result), ...result, endpoint: target.endpoint }, context)))
      return this.endAsEarlier(call, receiver, context);
    this.logStep('stored', call, context, { seller_status: statusCode, seller_ms: latencyMs });
    if (payment) countStep('delivered');
    return this.settle(call, result, context);
  }

  /** Ends a call whose earlier attempt, which had lost its lock, may have stored its answer first. */
  private async endAsEarlier(
    call: AttemptedCall,
    answer: Pick<ContentReceiver, 'discard'> | undefined,
    context: RequestContext,
  ): Promise<CallEnd> {
    await answer?.discard();
    const stored = await this.records.findResult(call.id);
    return stored ? this.end(call, stored, context) : { outcome: 'unknown' };
  }

  /** Takes an answer that is a file or a stream, if the listing may answer with one. */
  private receiverOf(
    call: AttemptedCall,
    target: CallableEndpoint,
    { formats, lockName }: AskedOfSeller,
    open: Open<CallEnd>,
    left: AbortController,
    context: RequestContext,
  ): ContentReceiver | undefined {
    if (!mayAnswerWithContent(formats)) return undefined;
    const { attempt, payment } = call;
    let transfer: Collected | undefined;
    return this.contents.receiver(ownerOf(call), formats, target, {
      lockName,
      attempt,
      onAbandoned: payment ? undefined : () => left.abort(),
      collect: async () => {
        // What a call costs that costs what it uses is known at the end of its stream, so a signature is held until then.
        const until = call.money.usage && new Date(Date.now() + target.endpoint.streamTimeoutMs);
        const [collected] = await Promise.all([
          payment?.isSigned ? this.money.collect(payment.paymentId, context, until) : null,
          // A reader finds the stream by the call.
          this.records.markForwarding(call, target.endpoint.streamTimeoutMs),
        ]);
        if (collected?.outcome === 'refused') throw new NotCollected(collected);
        if (collected?.outcome === 'unknown') open(collected);
        else transfer = collected?.transfer;
        return collected?.outcome !== 'unknown';
      },
      onOpen: (stream) => open({ outcome: 'streaming', stream, ...(transfer ? { transfer } : {}) }),
    });
  }

  /**
   * Stores what has come of a stream that broke off after its first event, and owes back what was paid. A stream that
   * this process has cut did not break off: its call may be made again.
   */
  private async storeBroken(
    stream: StreamWriter,
    call: AttemptedCall,
    { endpoint }: CallableEndpoint,
    outcome: SellerFailed,
    context: RequestContext,
  ): Promise<CallEnd> {
    this.logFailure(call, outcome, context);
    const { statusCode, latencyMs } = outcome;
    const content = await stream.stop();
    const json = jsonOfContent(content, { events: stream.events, outcome: 'broken' });
    const answer = failedAnswer(
      call.id,
      { ...outcome, json },
      call.money.feeBps,
      isCharged(call.payment) ? OWED_BACK : OVER,
    );
    const result = { answer, content, answerDigest: digestOf(content), statusCode, latencyMs, units: null };
    if (await this.broken.store(call, endpoint, outcome, result, context)) return this.oweBack(call, result, context);
    return this.endAsEarlier(call, stream, context);
  }

  /** Owes back what was paid for a stream that broke off, and answers with what has come of it. */
  private async oweBack({ id, payment }: AttemptedCall, result: Result, context: RequestContext): Promise<CallEnd> {
    if (payment) {
      if (!(await this.money.oweBack(payment.paymentId, context))) return { outcome: 'unknown' };
      this.records.markSettled(id, { completedAt: new Date().toISOString(), transfer: null });
      await this.records.flush();
    }
    return { outcome: 'answered', ...answerOf(result) };
  }

  /** Charges for a stored result, unless the call costs nothing, and answers with it. */
  private async settle(
    { id, payment, bodyDigest, time }: AttemptedCall,
    result: Result,
    context: RequestContext,
    isResumed?: true,
  ): Promise<CallEnd> {
    if (!payment) return { outcome: 'answered', ...answerOf(result) };
    const { paymentId, isSigned } = payment;
    const settlement = await time.during('settlement', () =>
      this.money.settle({ paymentId, isSigned, isResumed, gatewayRequestId: id, bodyDigest }, result, context),
    );
    if (settlement.outcome !== 'charged') return settlement;
    this.records.markSettled(id, settlement);
    // Any process may be asked for the file next, and shows none that is not settled.
    if (result.content || isResumed) await this.records.flush();
    return { outcome: 'answered', ...answerOf(result), transfer: settlement.transfer };
  }

  /** Sends one signed request to the seller. The history shows a call that takes long as `forwarding`. */
  private async forward(
    call: AttemptedCall,
    target: CallableEndpoint,
    { body: rawBody, contentType }: AskedOfSeller,
    receiver: ContentReceiver | undefined,
    { ends, startedAt }: { ends: AbortSignal; startedAt: number },
    context: RequestContext,
  ): Promise<SellerReply> {
    const { id, buyerId, attempt } = call;
    const remainingMs = context.deadlineAt - Date.now() - SETTLE_BUDGET_MS;
    const timeoutMs = Math.max(1, Math.min(target.endpoint.timeoutMs, remainingMs));
    let shown: Promise<void> | undefined;
    const show = setTimeout(() => {
      shown = this.records.markForwarding(call, timeoutMs).catch(() => undefined);
    }, SHOW_FORWARDING_AFTER_MS);
    try {
      const jobDeadlineSeconds = jobDeadlineOf(target, startedAt);
      const request = { requestId: id, event: 'gateway.call', buyerId, attempt, rawBody, contentType } as const;
      const signal = receiver && ends;
      return await this.sellers.send(target, { ...request, jobDeadlineSeconds, timeoutMs, receiver, signal }, context);
    } finally {
      clearTimeout(show);
      // Waits for the update, so that it cannot overwrite the status that is stored next.
      await shown;
    }
  }

  private logFailure(call: AttemptedCall, outcome: SellerFailed, context: RequestContext): void {
    const { reason, statusCode, latencyMs } = outcome;
    this.logStep('not_billable', call, context, { reason, seller_status: statusCode, seller_ms: latencyMs });
    if (call.payment) countStep('not_billable', reason);
  }

  /** Logs a step of the gateway. The ledger records its own steps in its request log and its journal. */
  private logStep(
    msg: 'forwarded' | 'stored' | 'job' | 'not_billable',
    { id, listing, buyerId, payment }: AttemptedCall,
    { requestId, traceparent }: RequestContext,
    details: Record<string, unknown>,
  ): void {
    this.logger.log({
      msg,
      ...details,
      listing_id: listing.listingId,
      call_id: id,
      payment_id: payment?.paymentId,
      account_id: buyerId,
      request_id: requestId,
      trace_id: traceIdOf(traceparent),
    });
  }
}

export const answerOf = ({ answer, content }: Result): Answer => ({ answer, content });

export const ownerOf = ({ id, buyerId, listing }: CallRecord): ContentOwner => ({
  callId: id,
  buyerId,
  sellerId: listing.sellerId,
});

/** The call at what it used. */
const atUse = (call: AttemptedCall, { units }: Result): AttemptedCall => ({
  ...call,
  money: moneyOfUse(call.money, units),
});

/** An answer to a call that costs what it uses is none without that, so that nothing is charged for it. */
function withUnits({ money }: CallRecord, outcome: SellerOutcome, stream?: StreamWriter): SellerOutcome {
  if (!money.usage || outcome.kind === 'failed') return outcome;
  const units = stream ? stream.units : outcome.units;
  if (units !== undefined) return { ...outcome, units };
  const { latencyMs } = outcome;
  return { kind: 'failed', reason: 'units_missing', statusCode: 502, contact: 'answered', json: null, latencyMs };
}

function resultOf({ id, money }: CallRecord, outcome: SellerAnswered, receiver?: ContentReceiver): Result {
  const { statusCode, latencyMs, content = null } = outcome;
  const units = money.usage ? outcome.units! : null;
  const stream = receiver?.stream && ({ events: receiver.stream.events, outcome: 'completed' } as const);
  const json = outcome.content ? jsonOfContent(outcome.content, stream) : outcome.json;
  const answer = billableAnswer(id, moneyOfUse(money, units), statusCode, json, units);
  const answerDigest = content ? digestOf(content) : createHash('sha256').update(json).digest();
  return { answer, content, answerDigest, statusCode, latencyMs, units };
}

/** A call as its attempt was when the seller took it. */
function toAttempted({ id, buyerId, listingId, name, slug, sellerId, bodyDigest, money, ...job }: Job): AttemptedCall {
  const { paymentId, relayRequestId, provider, scheme, network, transactionHash } = job;
  const paid = { provider: provider ?? '', scheme: scheme ?? '', network: network ?? '', transactionHash };
  return {
    id,
    buyerId,
    listing: { listingId, name, slug, sellerId },
    bodyDigest,
    money,
    payment: paymentId === null ? null : { paymentId, relayRequestId: relayRequestId!, ...paid, retryUntil: '' },
    attempt: job.attempts,
    time: new CallTime(),
    isJob: true,
  };
}

const digestOf = ({ sha256 }: { sha256: string }): Buffer => Buffer.from(sha256, 'hex');

/** For what follows the end of a stream. */
const laterContext = ({ requestId, traceparent, principal }: RequestContext): RequestContext =>
  newRequestContext({ requestId, traceparent, principal, budgetMs: END_STREAM_MS });
