import type { Offering } from '@market/contracts/catalog';
import { executeCall } from '@market/contracts/gateway';
import { findPayerWallet } from '@market/contracts/identity';
import { claimPayment, createOffer } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { isUuid, newId } from '@market/kernel';
import type { Permit } from '@market/limits';
import { isRefusal, MessageBus, principalOf, Refusal, refuse, type RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { bodyDigest } from '../canonical/body-digest.js';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { CallableEndpoints, type CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { takesCalls } from '../endpoints/endpoint.js';
import { Offerings } from '../offerings/offerings.js';
import { CallKeys } from './call-keys.js';
import { CallRecords } from './call-records.js';
import { FreeCall } from './free-call.js';
import { HeldClaims } from './held-claims.js';
import { PaidCall, type CallEnd, type Claimed } from './paid-call.js';
import { SellerCapacity } from './seller-capacity.js';
import { SETTLE_BUDGET_MS } from './seller-call.js';

type Input = InputOf<typeof executeCall>;
type Output = OutputOf<typeof executeCall>;
type Transfer = Extract<Output, { outcome: 'answered' }>['transfer'];
type Pending = Extract<Output, { outcome: 'pending' }>;
type PaidInput = Input & { relayRequestId: string };
type PaidResult =
  | Exclude<OutputOf<typeof claimPayment>, { outcome: 'claimed' | 'completed' }>
  | Superseded
  | (CallEnd & { gatewayRequestId: string; hasKey?: boolean });

/** Another call has the key, and may be charged. */
interface Superseded {
  outcome: 'superseded';
  by: string;
  gatewayRequestId: string;
}

/** What is called. Without the catalog only its id is known, which is enough for what was delivered already. */
interface Listed {
  offering: Offering | null;
  listingId: string;
  outage: Refusal | null;
}

/** What was found out about a request before its payment is looked at. */
interface Checked extends Listed {
  digest: Buffer;
  fingerprint: Buffer;
  /** The call that its Idempotency-Key belongs to, and whether that call has its result. */
  keyOf: string | null;
  isReplay: boolean;
}
/** Why a payment is not good for its call. */
export type NotPaid = Pick<
  Extract<Output, { outcome: 'payment_required' }>,
  'reason' | 'received' | 'missing' | 'rejection'
>;
/** The payment buys nothing any more: a new offer is needed. */
export interface Spent {
  outcome: 'spent';
  why: NotPaid;
}

const FIRST_LOOK_MS = 50;
/** So soon the claim of a process that is gone is free again. */
const IN_FLIGHT_RETRY_SECONDS = 2;
/** A pause ends when its seller says so. */
const PAUSED_RETRY_SECONDS = 60;
/** By the namespace of CAIP-2. */
const CHAIN_TYPES: Record<string, string> = { eip155: 'evm', solana: 'solana' };

/**
 * The paid call. Unpaid: check everything that could make a payment useless, then quote. Paid: claim the payment, call
 * the seller, store, settle, answer. What was charged once is answered from the stored result, to everyone who asks.
 */
@Injectable()
export class ExecuteCall {
  /** Calls under way in this process: a second request joins the first where it is the same in everything that its outcome depends on. */
  private readonly underWay = new Map<string, Promise<PaidResult>>();

  constructor(
    private readonly bus: MessageBus,
    private readonly offerings: Offerings,
    private readonly endpoints: CallableEndpoints,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly capacity: SellerCapacity,
    private readonly heldClaims: HeldClaims,
    private readonly paidCall: PaidCall,
    private readonly freeCall: FreeCall,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  async execute(input: Input, context: RequestContext): Promise<Output> {
    const { kept, relayRequestId, ...checked } = await this.check(input, context);
    if (kept) return kept;
    if (relayRequestId) {
      const paid = await this.executePaid({ ...input, relayRequestId }, checked, context);
      if (paid.outcome !== 'spent') return paid;
      const { offering } = await this.assertCallable(checked, input, context);
      return this.quote(input, offering, checked, paid.why, context);
    }
    const { offering, target } = await this.assertCallable(checked, input, context);
    if (BigInt(offering.priceMicros) > 0n) return this.quote(input, offering, checked, {}, context);
    const permit = await this.capacity.acquire(target.endpoint);
    try {
      return toOutput(
        await this.freeCall.execute(
          target,
          {
            buyerId: principalOf(context).accountId,
            listing: offering,
            bodyDigest: checked.digest,
            body: input.body,
            fingerprint: checked.fingerprint,
          },
          context,
        ),
        false,
      );
    } finally {
      permit.release();
    }
  }

  /** As `execute`, for a payment that there is; offers nothing in its place. */
  async executeOpened(input: PaidInput, context: RequestContext): Promise<Output | Spent> {
    const { kept, relayRequestId, ...checked } = await this.check(input, context);
    return (
      kept ?? this.executePaid({ ...input, relayRequestId: relayRequestId ?? input.relayRequestId }, checked, context)
    );
  }

  private async check(
    input: Input,
    context: RequestContext,
  ): Promise<Checked & { kept: Output | null; relayRequestId: string | undefined }> {
    const listed = await this.findListed(input, context);
    const digest = digestOfBody(input.body);
    const fingerprint = this.keys.fingerprint(listed.listingId, digest, input);
    const keyOf = await this.keys.find(context, fingerprint);
    const result = keyOf && (await this.records.findResult(keyOf));
    return {
      ...listed,
      digest,
      fingerprint,
      keyOf,
      isReplay: Boolean(result),
      kept: result && result.isFinal ? answered(result.answer, true) : null,
      // A result that is stored and not known to be charged is asked for as its own payment would be.
      relayRequestId: (result && result.relayRequestId) || input.relayRequestId,
    };
  }

  private async executePaid(input: PaidInput, checked: Checked, context: RequestContext): Promise<Output | Spent> {
    const { relayRequestId } = input;
    const { fingerprint } = checked;
    const identity = identityOf(input, checked, context);
    const waitUntil = Math.min(Date.now() + this.config.waitForResultMs, context.deadlineAt - 1_000);
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 2, 1_000)) {
      const joined = this.underWay.get(identity);
      const result = await (joined ? orNothing(joined, waitUntil) : this.lead(identity, input, checked, context));
      if (!result) return pending(relayRequestId, 1, 'call_in_progress');
      if ('answer' in result) {
        if (result.answer === null && result.refused !== undefined)
          return { outcome: 'spent', why: { rejection: { reason: result.refused, at: 'settlement' } } };
        const hasKey = checked.keyOf === result.gatewayRequestId || result.hasKey;
        if (result.answer !== null && !hasKey) await this.keys.bind(context, fingerprint, result.gatewayRequestId);
        return toOutput(result, checked.isReplay, relayRequestId);
      }
      switch (result.outcome) {
        case 'pending':
          await this.records.markPending(result.gatewayRequestId);
          return pending(relayRequestId, result.retryAfterSeconds, result.reason);
        case 'unpaid':
          return { outcome: 'payment_required', payment: result.offer, reason: 'unpaid' };
        case 'rejected':
          return {
            outcome: 'payment_required',
            payment: result.offer,
            rejection: { reason: result.reason, at: 'verification' },
          };
        case 'underpaid':
          return {
            outcome: 'payment_required',
            payment: result.offer,
            reason: 'underpaid',
            received: result.received,
            missing: result.missing,
          };
        case 'not_payable':
          return { outcome: 'spent', why: { reason: result.reason } };
        case 'superseded': {
          const earlier = await this.executeEarlier(result.by, input, checked, context);
          if (earlier) return earlier;
          await this.keys.move(context, result.by, result.gatewayRequestId);
          break;
        }
        case 'in_flight':
          // Another process holds the claim: its result may be a moment away.
          if (Date.now() + pause >= waitUntil)
            return pending(relayRequestId, IN_FLIGHT_RETRY_SECONDS, 'call_in_progress');
          await delay(pause);
      }
    }
  }

  /** The call that a key belongs to, as long as it may be charged; what was signed anew lapses. */
  private async executeEarlier(
    id: string,
    input: PaidInput,
    checked: Checked,
    context: RequestContext,
  ): Promise<Output | null> {
    const relayRequestId = await this.records.findRelayRequest(id);
    if (relayRequestId === null) return null;
    const output = await this.executePaid(
      { ...input, relayRequestId, authorization: undefined },
      { ...checked, keyOf: id },
      context,
    );
    return output.outcome === 'spent' || output.outcome === 'payment_required' ? null : output;
  }

  private lead(identity: string, input: PaidInput, checked: Checked, context: RequestContext): Promise<PaidResult> {
    const work = this.claimAndCall(input, checked, context).finally(() => this.underWay.delete(identity));
    this.underWay.set(identity, work);
    return work;
  }

  /** Claims; with the claim in hand, and only then, looks whether the seller can be called, and gives it back where not. */
  private async claimAndCall(input: PaidInput, checked: Checked, context: RequestContext): Promise<PaidResult> {
    const { listingId, digest } = checked;
    const target = await this.endpoints.find(listingId);
    const leaseMs = leaseMsFor(target, this.config);
    const claim = await this.bus.request(
      claimPayment,
      {
        relayRequestId: input.relayRequestId,
        listingId,
        bodyDigest: digest.toString('hex'),
        leaseMs,
        holderId: this.heldClaims.holderId,
        authorization: input.authorization,
      },
      context,
    );
    if (claim.outcome === 'completed') {
      const result = await this.records.findResult(claim.gatewayRequestId);
      if (!result) throw refuse(executeCall, 'result_not_kept', {});
      return { answer: result.answer, transfer: claim.transfer, gatewayRequestId: claim.gatewayRequestId };
    }
    return claim.outcome === 'claimed'
      ? this.heldClaims.during(claim.paymentId, () => this.callClaimed(claim, target, input, checked, context))
      : claim;
  }

  private async callClaimed(
    claim: Claimed,
    target: CallableEndpoint | null,
    input: PaidInput,
    checked: Checked,
    context: RequestContext,
  ): Promise<PaidResult> {
    const { gatewayRequestId } = claim;
    const holder = await this.takeKey(claim, input, checked, context);
    if (holder !== gatewayRequestId) {
      await this.giveBack(claim, context);
      return { outcome: 'superseded', by: holder, gatewayRequestId };
    }
    const { permit, callable } = await this.acquirePermit(claim, checked, target, input, context);
    try {
      const end = await this.paidCall.execute(
        claim,
        callable,
        {
          buyerId: principalOf(context).accountId,
          relayRequestId: input.relayRequestId,
          bodyDigest: checked.digest,
          body: input.body,
        },
        context,
      );
      return { ...end, gatewayRequestId, hasKey: input.authorization !== undefined };
    } finally {
      permit.release();
    }
  }

  /**
   * A key that comes with a signature may belong to no offer: x402 clients that lose an answer ask for another offer and sign anew. So it
   * is taken before the seller is called. @returns the call that has it.
   */
  private async takeKey(
    claim: Claimed,
    { authorization }: PaidInput,
    { fingerprint, keyOf }: Checked,
    context: RequestContext,
  ): Promise<string> {
    if (authorization === undefined || keyOf === claim.gatewayRequestId) return claim.gatewayRequestId;
    try {
      return await this.keys.take(context, fingerprint, claim.gatewayRequestId);
    } catch (error) {
      await this.giveBack(claim, context);
      throw error;
    }
  }

  private giveBack(claim: Claimed, context: RequestContext): Promise<unknown> {
    return this.records
      .giveBack(claim.gatewayRequestId, claim.retryUntil)
      .finally(() => this.paidCall.giveBack(claim, context));
  }

  private async acquirePermit(
    claim: Claimed,
    { offering, outage }: Listed,
    target: CallableEndpoint | null,
    input: Input,
    context: RequestContext,
  ): Promise<{ permit: Permit; callable: CallableEndpoint }> {
    try {
      assertRoute(input, claim);
      if (outage) throw outage;
      if (offering?.status !== 'active') throw refuse(executeCall, 'listing_unavailable', {});
      if (!target || !takesCalls(target.endpoint)) throw postponed(target, this.config);
      const callable = assertFits(target, input);
      return { permit: await this.capacity.acquire(callable.endpoint), callable };
    } catch (error) {
      await this.giveBack(claim, context);
      throw error;
    }
  }

  private async quote(
    input: Input,
    offering: Offering,
    { digest, fingerprint }: Checked,
    notPaid: NotPaid,
    context: RequestContext,
  ): Promise<Output> {
    const { listingId, name, slug, sellerId, preferredCurrency } = offering;
    const listing = { listingId, name, slug, sellerId, preferredCurrency };
    const wallet =
      input.originWalletId === undefined
        ? undefined
        : await this.bus.request(findPayerWallet, { walletId: input.originWalletId }, context);
    try {
      const { offer, money, gatewayRequestId } = await this.bus.request(
        createOffer,
        {
          gatewayRequestId: newId(),
          listing,
          priceMicros: offering.priceMicros,
          bodyDigest: digest.toString('hex'),
          originCurrency: input.originCurrency ?? currencyOf(wallet, input),
          originChainId: input.originChainId,
          originWalletId: input.originWalletId,
        },
        context,
      );
      // Also of an offer that is not new: whoever made it may have died before it wrote this down.
      await this.records.recordQuote({
        id: gatewayRequestId,
        buyerId: principalOf(context).accountId,
        listing,
        bodyDigest: digest,
        offer,
        money,
      });
      if (wallet) assertSameChain(wallet.chainType, offer.requirements.network);
      // What was sent for an offer that is over says nothing of the one in its place.
      if (notPaid.reason === undefined)
        assertRoute(input, {
          scheme: offer.retry_headers['X-Market-Payment-Scheme'] ?? '',
          network: offer.requirements.network,
        });
      const keyOf = await this.keys.bind(context, fingerprint, gatewayRequestId);
      // The key's call was delivered in this very moment: its answer is a moment away, and the offer is left to expire.
      if (keyOf !== gatewayRequestId) return pending(undefined, 1, 'call_in_progress');
      return { outcome: 'payment_required', payment: offer, ...notPaid };
    } catch (error) {
      if (isRefusal(error, createOffer, 'payment_route_minimum_not_met'))
        await this.keys.bind(context, fingerprint, null);
      throw error;
    }
  }

  /** Everything that could make a payment useless is refused before one is asked for. */
  private async assertCallable(
    { offering, outage }: Listed,
    input: Input,
    context: RequestContext,
  ): Promise<{ offering: Offering; target: CallableEndpoint }> {
    if (outage) throw outage;
    const own = offering?.sellerId === principalOf(context).accountId;
    if (!offering || (offering.status !== 'active' && !own)) throw refuse(executeCall, 'listing_not_found', {});
    if (offering.pricingModel !== 'per_call') throw refuse(executeCall, 'listing_not_per_call', {});
    if (own) throw refuse(executeCall, 'own_listing', {});
    const target = await this.endpoints.find(offering.listingId);
    if (!target || !takesCalls(target.endpoint))
      throw refuse(executeCall, 'endpoint_unavailable', { endpoint_status: target?.endpoint.status ?? 'removed' });
    return { offering, target: assertFits(target, input) };
  }

  private async findListed(input: Input, context: RequestContext): Promise<Listed> {
    try {
      const offering = await this.offerings.find(input.listingRef, context);
      return { offering, listingId: offering?.listingId ?? listingIdOf(input), outage: null };
    } catch (error) {
      if (!(error instanceof Refusal) || error.declaration.kind !== 'unavailable') throw error;
      const listingId = isUuid(input.listingRef)
        ? listingIdOf(input)
        : input.relayRequestId &&
          (await this.records.findListing(principalOf(context).accountId, input.relayRequestId, input.listingRef));
      if (!listingId) throw error;
      return { offering: null, listingId, outage: error };
    }
  }
}

/** How long a claim of its payment may be held: the seller's time, and the settlement's after it. */
export const leaseMsFor = (target: CallableEndpoint | null, { sellerTimeoutMs }: GatewayConfig): number =>
  Math.min((target?.endpoint.timeoutMs ?? sellerTimeoutMs) + 2 * SETTLE_BUDGET_MS, 300_000);

function assertFits(target: CallableEndpoint, { body }: Input): CallableEndpoint {
  const { maxRequestBytes } = target.endpoint;
  if (Buffer.byteLength(body) > maxRequestBytes)
    throw refuse(executeCall, 'request_body_too_large', { max_request_bytes: maxRequestBytes });
  return target;
}

/** The retry headers are optional; where they are sent, they are those of the offer. */
function assertRoute(
  { paymentScheme, paymentNetwork, authorization }: Input,
  { scheme, network }: Pick<Claimed, 'scheme' | 'network'>,
): void {
  const isSigned = authorization !== undefined && paymentScheme === 'exact';
  if ((!isSigned && (paymentScheme ?? scheme) !== scheme) || (paymentNetwork ?? network) !== network)
    throw refuse(executeCall, 'payment_route_mismatch', { scheme, network });
}

/** A wallet that names no route asks for one it can pay. */
const currencyOf = (wallet: { chainType: string } | undefined, { originChainId }: Input): 'SOL' | undefined =>
  wallet?.chainType === 'solana' && originChainId === undefined ? 'SOL' : undefined;

function assertSameChain(chainType: string, network: string): void {
  if (CHAIN_TYPES[network.split(':')[0]!] !== chainType)
    throw refuse(executeCall, 'wallet_chain_mismatch', { wallet_chain_type: chainType, network });
}

/** A failing endpoint is tested again after an interval at most. */
function postponed(target: CallableEndpoint | null, { probeIntervalMs }: GatewayConfig): Refusal {
  const { status, probeAt } = target?.endpoint ?? { status: 'removed', probeAt: null };
  const seconds =
    status === 'failing'
      ? Math.min(probeIntervalMs, Math.max(0, probeAt!.getTime() - Date.now())) / 1_000
      : PAUSED_RETRY_SECONDS;
  return refuse(executeCall, 'delivery_postponed', {
    endpoint_status: status,
    retry_after_seconds: Math.max(1, Math.ceil(seconds)),
  });
}

/** @throws Refusal `request_body_invalid`. */
export function digestOfBody(body: string): Buffer {
  const result = bodyDigest(body);
  if ('problem' in result) throw refuse(executeCall, 'request_body_invalid', result);
  return result.digest;
}

/** Payments and kept answers outlive their listing: where it is gone, its id may still name them. */
function listingIdOf({ listingRef }: Input): string {
  if (isUuid(listingRef)) return listingRef.toLowerCase();
  throw refuse(executeCall, 'listing_not_found', {});
}

const answered = (dataJson: string, idempotencyReplayed: boolean, transfer?: Transfer | null): Output => ({
  outcome: 'answered',
  dataJson,
  idempotencyReplayed,
  ...(transfer ? { transfer } : {}),
});

const pending = (relayRequestId: string | undefined, retryAfterSeconds: number, reason: Pending['reason']): Output => ({
  outcome: 'pending',
  relayRequestId,
  retryAfterSeconds,
  reason,
});

const toOutput = (end: CallEnd, isReplay: boolean, relayRequestId?: string): Output =>
  end.answer === null
    ? pending(relayRequestId, 1, relayRequestId === undefined ? 'call_in_progress' : 'settlement_unknown')
    : answered(end.answer, isReplay, end.transfer);

/** Another signature, key or route may have another outcome, of which the ledger decides. */
function identityOf(
  { relayRequestId, authorization, paymentScheme, paymentNetwork }: PaidInput,
  { listingId, digest }: Checked,
  context: RequestContext,
): string {
  const parts = [
    relayRequestId,
    principalOf(context).accountId,
    listingId,
    digest.toString('hex'),
    context.idempotency?.key,
    paymentScheme,
    paymentNetwork,
    authorization,
  ];
  return hash('sha256', JSON.stringify(parts), 'base64');
}

/** What `work` comes to, or null at the given time. The timer ends with the wait: until then it would keep the result. */
async function orNothing<T>(work: Promise<T>, at: number): Promise<T | null> {
  const wait = new AbortController();
  const timeUp = delay(Math.max(0, at - Date.now()), null, { ref: false, signal: wait.signal }).catch(() => null);
  try {
    return await Promise.race([work, timeUp]);
  } finally {
    wait.abort();
  }
}
