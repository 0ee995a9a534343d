import type { Offering } from '@market/contracts/catalog';
import { executeCall } from '@market/contracts/gateway';
import { claimPayment, createOffer } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { isUuid, newId } from '@market/kernel';
import { isRefusal, MessageBus, principalOf, refuse, type Call } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { bodyDigest } from '../canonical/body-digest.js';
import { JsonRejected } from '../canonical/json-rejected.error.js';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { CallableEndpoints, type CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { takesCalls } from '../endpoints/endpoint.js';
import { Offerings } from '../offerings/offerings.js';
import { CallKeys } from './call-keys.js';
import { CallRecords } from './call-records.js';
import { FreeCall } from './free-call.js';
import { PaidCall, type CallEnd, type Claimed } from './paid-call.js';
import { SellerCapacity } from './seller-capacity.js';
import { SETTLE_BUDGET_MS } from './seller-call.js';

type Input = InputOf<typeof executeCall>;
type Output = OutputOf<typeof executeCall>;
type PaidInput = Input & { relayRequestId: string };

/** What was found out about a request before its payment is looked at. */
interface Checked {
  offering: Offering | null;
  listingId: string;
  digest: Buffer;
  fingerprint: Buffer;
  /** The call that its Idempotency-Key belongs to. */
  keyOf: string | null;
}
type NotPaid = Pick<Extract<Output, { outcome: 'payment_required' }>, 'reason' | 'received' | 'missing'>;

const COME_BACK: Output = { outcome: 'pending', retryAfterSeconds: 1 };
const FIRST_LOOK_MS = 50;

/**
 * The paid call. Unpaid: check everything that could make a payment useless, then quote. Paid: claim the payment, call
 * the seller, store, settle, answer. What was charged once is answered from the stored result, to everyone who asks.
 */
@Injectable()
export class ExecuteCall {
  /** Calls under way in this process: a second attempt at one joins the first. */
  private readonly underWay = new Map<string, Promise<CallEnd>>();

  constructor(
    private readonly bus: MessageBus,
    private readonly offerings: Offerings,
    private readonly endpoints: CallableEndpoints,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly capacity: SellerCapacity,
    private readonly paidCall: PaidCall,
    private readonly freeCall: FreeCall,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  async execute(input: Input, call: Call): Promise<Output> {
    const offering = await this.offerings.find(input.listingRef, call);
    const digest = digestBody(input.body);
    const listingId = offering?.listingId ?? listingIdOf(input);
    const fingerprint = this.keys.fingerprint(listingId, digest, input);
    const known = await this.keys.find(call, fingerprint);
    const kept = known && (await this.records.findResult(known));
    if (kept && !input.relayRequestId) return answered(kept.answer, true);
    if (input.relayRequestId) return this.executePaid({ ...input, relayRequestId: input.relayRequestId }, { offering, listingId, digest, fingerprint, keyOf: known }, call);
    const target = await this.assertCallable(offering, input, call);
    if (BigInt(offering!.priceMicros) > 0n) return this.quote(input, offering!, digest, fingerprint, {}, call);
    const leave = this.enter(target);
    try {
      return toOutput(await this.freeCall.execute(target, { buyerId: principalOf(call).accountId, listing: offering!, bodyDigest: digest, body: input.body, fingerprint }, call));
    } finally {
      leave();
    }
  }

  private async executePaid(input: PaidInput, checked: Checked, call: Call): Promise<Output> {
    const { relayRequestId } = input;
    const { offering, listingId, digest, fingerprint } = checked;
    const { accountId } = principalOf(call);
    const identity = [relayRequestId, accountId, listingId, digest.toString('hex')].join('|');
    const waitUntil = Math.min(Date.now() + this.config.waitForResultMs, call.deadlineAt - 1_000);
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 2, 1_000)) {
      const same = this.underWay.get(identity);
      if (same) return toOutput(await Promise.race([same, comeBackAt(waitUntil)]), relayRequestId);
      const work = this.claimAndCall(input, checked, call);
      const end = work.then((result) => ('answer' in result ? result : { answer: null }));
      end.catch(() => undefined);
      this.underWay.set(identity, end);
      const result = await work.finally(() => this.underWay.delete(identity));
      if ('answer' in result) {
        if (result.answer !== null && checked.keyOf !== result.gatewayRequestId) await this.keys.bind(call, fingerprint, result.gatewayRequestId);
        return toOutput(result, relayRequestId);
      }
      switch (result.outcome) {
        case 'pending':
          await this.records.markPending(result.gatewayRequestId);
          return { outcome: 'pending', relayRequestId, retryAfterSeconds: result.retryAfterSeconds };
        case 'underpaid':
          return { outcome: 'payment_required', payment: result.offer, reason: 'underpaid', received: result.received, missing: result.missing };
        case 'not_payable':
          await this.assertCallable(offering, input, call);
          return this.quote(input, offering!, digest, fingerprint, { reason: result.reason }, call);
        case 'in_flight':
          // Another process holds the claim: its result may be a moment away.
          if (Date.now() + pause >= waitUntil) return { outcome: 'pending', relayRequestId, retryAfterSeconds: Math.max(1, Math.ceil(Math.min(result.retryAfterMs, 5_000) / 1_000)) };
          await delay(pause);
      }
    }
  }

  /** Claims; with the claim in hand, and only then, looks whether the seller can be called, and gives it back where not. */
  private async claimAndCall(input: PaidInput, { offering, listingId, digest }: Checked, call: Call) {
    const target = await this.endpoints.find(listingId);
    const leaseMs = Math.min((target?.endpoint.timeoutMs ?? this.config.sellerTimeoutMs) + 2 * SETTLE_BUDGET_MS, 300_000);
    const claim = await this.bus.request(claimPayment, { relayRequestId: input.relayRequestId, listingId, bodyDigest: digest.toString('hex'), leaseMs }, call);
    if (claim.outcome === 'completed') {
      const result = await this.records.findResult(claim.gatewayRequestId);
      return { answer: result?.answer ?? null, gatewayRequestId: claim.gatewayRequestId };
    }
    if (claim.outcome !== 'claimed') return claim;
    const leave = await this.holdPlace(claim, offering, target, call);
    try {
      const end = await this.paidCall.execute(claim, target!, { buyerId: principalOf(call).accountId, relayRequestId: input.relayRequestId, bodyDigest: digest, body: input.body }, call);
      return { ...end, gatewayRequestId: claim.gatewayRequestId };
    } finally {
      leave();
    }
  }

  private async holdPlace(claim: Claimed, offering: Offering | null, target: CallableEndpoint | null, call: Call): Promise<() => void> {
    try {
      if (offering?.status !== 'active') throw refuse(executeCall, 'listing_unavailable', {});
      if (!target || !takesCalls(target.endpoint)) throw refuse(executeCall, 'endpoint_unavailable', { endpoint_status: target?.endpoint.status ?? 'removed' });
      return this.enter(target);
    } catch (error) {
      await this.paidCall.giveBack(claim, call);
      throw error;
    }
  }

  private async quote(input: Input, offering: Offering, digest: Buffer, fingerprint: Buffer, notPaid: NotPaid, call: Call): Promise<Output> {
    const { listingId, name, slug, sellerId, preferredCurrency } = offering;
    const listing = { listingId, name, slug, sellerId, preferredCurrency };
    try {
      const { offer, money, gatewayRequestId, isNew } = await this.bus.request(
        createOffer,
        {
          gatewayRequestId: newId(),
          listing,
          priceMicros: offering.priceMicros,
          bodyDigest: digest.toString('hex'),
          originCurrency: input.originCurrency,
          originChainId: input.originChainId,
          originWalletId: input.originWalletId,
        },
        call,
      );
      if (isNew) await this.records.recordQuote({ id: gatewayRequestId, buyerId: principalOf(call).accountId, listing, bodyDigest: digest, offer, money });
      await this.keys.bind(call, fingerprint, gatewayRequestId);
      return { outcome: 'payment_required', payment: offer, ...notPaid };
    } catch (error) {
      if (isRefusal(error, createOffer, 'payment_route_minimum_not_met')) await this.keys.bind(call, fingerprint, null);
      throw error;
    }
  }

  /** Everything that could make a payment useless is refused before one is asked for. */
  private async assertCallable(offering: Offering | null, input: Input, call: Call): Promise<CallableEndpoint> {
    const own = offering?.sellerId === principalOf(call).accountId;
    if (!offering || (offering.status !== 'active' && !own)) throw refuse(executeCall, 'listing_not_found', {});
    if (offering.pricingModel !== 'per_call') throw refuse(executeCall, 'listing_not_per_call', {});
    if (own) throw refuse(executeCall, 'own_listing', {});
    const target = await this.endpoints.find(offering.listingId);
    if (!target || !takesCalls(target.endpoint)) throw refuse(executeCall, 'endpoint_unavailable', { endpoint_status: target?.endpoint.status ?? 'removed' });
    if (Buffer.byteLength(input.body) > target.endpoint.maxRequestBytes) throw refuse(executeCall, 'request_body_too_large', { max_request_bytes: target.endpoint.maxRequestBytes });
    return target;
  }

  private enter(target: CallableEndpoint): () => void {
    const leave = this.capacity.enter(target.endpoint);
    if (!leave) throw refuse(executeCall, 'listing_busy', { retry_after_seconds: 1 });
    return leave;
  }
}

function digestBody(body: string): Buffer {
  try {
    return bodyDigest(body);
  } catch (error) {
    if (!(error instanceof JsonRejected)) throw error;
    throw refuse(executeCall, 'request_body_invalid', { problem: error.reason, position: error.offset });
  }
}

/** A payment outlives its listing: where the listing is gone, its id may still name it. */
function listingIdOf({ listingRef, relayRequestId }: Input): string {
  if (relayRequestId && isUuid(listingRef)) return listingRef.toLowerCase();
  throw refuse(executeCall, 'listing_not_found', {});
}

const answered = (dataJson: string, idempotencyReplayed: boolean): Output => ({ outcome: 'answered', dataJson, idempotencyReplayed });

const toOutput = (end: CallEnd, relayRequestId?: string): Output => (end.answer === null ? { ...COME_BACK, relayRequestId } : answered(end.answer, false));

async function comeBackAt(at: number): Promise<CallEnd> {
  await delay(Math.max(0, at - Date.now()), undefined, { ref: false });
  return { answer: null };
}
