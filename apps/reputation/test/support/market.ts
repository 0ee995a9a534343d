import type { Offering } from '@market/contracts/catalog';
import { callFailed } from '@market/contracts/gateway';
import { agentClaimed, agentRegistered, registrationWorkSolved, walletLinked } from '@market/contracts/identity';
import {
  feesPaid,
  paymentCompleted,
  paymentRefundDue,
  paymentRefunded,
  refundOverdue,
  subscriptionStarted,
} from '@market/contracts/payments-ledger';
import { createReview, getScore } from '@market/contracts/reputation';
import { newId } from '@market/kernel';
import type { EventRecord } from '@market/messaging';
import { eventOf, principal, type ReputationService } from './reputation-service.js';

export const DAY_MS = 86_400_000;
export const daysAgo = (days: number): Date => new Date(Date.now() - days * DAY_MS);

/** A seller with one listing. */
export interface Shop {
  sellerId: string;
  listingId: string;
}

export const newShop = (sellerId = newId()): Shop => ({ sellerId, listingId: newId() });

export const offeringOf = ({ sellerId, listingId }: Shop, values: Partial<Offering> = {}): Offering => ({
  listingId,
  sellerId,
  slug: `listing-${listingId}`,
  name: 'A listing',
  status: 'active',
  pricingModel: 'per_call',
  priceMicros: '10000',
  preferredCurrency: 'USDC',
  category: null,
  ...values,
});

export interface Sale {
  micros?: bigint;
  at?: Date;
  status?: number;
  /** What of the fee the operator received with the sale: by default nothing. */
  received?: bigint;
}

export const sale = (
  { sellerId, listingId }: Shop,
  buyerId: string,
  { micros = 50_000n, at = new Date(), status = 200, received = 0n }: Sale = {},
): EventRecord =>
  eventOf(paymentCompleted, {
    paymentId: newId(),
    relayRequestId: `0x${'ab'.repeat(32)}`,
    gatewayRequestId: newId(),
    buyerId,
    sellerId,
    listingId,
    grossMicros: micros.toString(),
    feeMicros: (micros / 20n).toString(),
    feeReceivedMicros: received.toString(),
    sellerStatusCode: status,
    latencyMs: 100,
    transactionHash: `0x${'cd'.repeat(32)}`,
    requestDigest: '0'.repeat(64),
    responseDigest: '0'.repeat(64),
    completedAt: at.toISOString(),
  });

export const failure = ({ sellerId, listingId }: Shop, buyerId: string, at = new Date()): EventRecord =>
  eventOf(callFailed, {
    gatewayRequestId: newId(),
    attempt: 1,
    buyerId,
    sellerId,
    listingId,
    isPaid: true,
    reason: 'timeout',
    sellerStatusCode: 504,
    latencyMs: 30_000,
    at: at.toISOString(),
  });

/** A payment of fees that the seller owed. */
export const fees = ({ sellerId }: Shop, receivedMicros: bigint, paymentId = newId()): EventRecord =>
  eventOf(feesPaid, {
    paymentId,
    sellerId,
    amountMicros: receivedMicros.toString(),
    receivedMicros: receivedMicros.toString(),
    paidAt: new Date().toISOString(),
  });

/** A payment that was not delivered and is owed back. */
export const refundDue = ({ sellerId, listingId }: Shop, buyerId: string, micros: bigint): EventRecord =>
  eventOf(paymentRefundDue, {
    paymentId: newId(),
    gatewayRequestId: newId(),
    buyerId,
    sellerId,
    listingId,
    amountMicros: micros.toString(),
    sellersMicros: '0',
    reason: 'not_delivered',
    at: new Date().toISOString(),
  });

/** A refund that the seller has not paid in time. */
export const overdueRefund = ({ sellerId }: Shop, refundId: string): EventRecord =>
  eventOf(refundOverdue, { refundId, sellerId, at: new Date().toISOString() });

export const paidRefund = ({ sellerId, listingId }: Shop, refundId: string): EventRecord =>
  eventOf(paymentRefunded, {
    refundId,
    paymentId: newId(),
    gatewayRequestId: newId(),
    buyerId: newId(),
    sellerId,
    listingId,
    amountMicros: '237500',
    reason: 'not_delivered',
    owedBy: 'seller',
    network: 'eip155:8453',
    wallet: null,
    transactionHash: `0x${'ef'.repeat(32)}`,
    isWhole: true,
    at: new Date().toISOString(),
  });

export const subscription = (
  { sellerId, listingId }: Shop,
  consumerId: string,
  { micros = 0n, at = new Date(), received = 0n }: Sale = {},
): EventRecord =>
  eventOf(subscriptionStarted, {
    subscriptionId: newId(),
    paymentId: micros === 0n ? null : newId(),
    consumerId,
    sellerId,
    listingId,
    pricingModel: micros === 0n ? 'free' : 'monthly',
    grossMicros: micros.toString(),
    feeReceivedMicros: received.toString(),
    startedAt: at.toISOString(),
  });

export const registration = (id: string, at = new Date(), accountType: 'agent' | 'human' = 'agent'): EventRecord =>
  eventOf(agentRegistered, {
    agent: { id, display_name: 'Somebody', avatar_url: null, account_type: accountType, is_verified: false },
    registeredAt: at.toISOString(),
  });

export const claim = (agentId: string, humanId: string): EventRecord =>
  eventOf(agentClaimed, { agentId, humanId, claimedAt: new Date().toISOString() });

export const wallet = (accountId: string, address: string, chainType: 'evm' | 'solana' = 'evm'): EventRecord =>
  eventOf(walletLinked, { accountId, address, chainType, linkedAt: new Date().toISOString() });

export const solved = (accountId: string, solveMs: number, at = new Date()): EventRecord =>
  eventOf(registrationWorkSolved, { accountId, difficulty: 4, solveMs, solvedAt: at.toISOString() });

/** Creates a review as the reviewer. The fake ledger says that the reviewer has bought. */
export async function review(service: ReputationService, shop: Shop, reviewerId: string, stars: number): Promise<void> {
  service.neighbours.offerings.set(shop.listingId, offeringOf(shop));
  await service.ask(
    createReview,
    { listing_ref: shop.listingId, accuracy_rating: stars, reliability_rating: stars, value_rating: stars },
    { principal: principal(reviewerId) },
  );
}

/** Runs the work for all items, with as many concurrently as the service has connections. */
export async function inTurns<T>(items: T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = [...items];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) await work(item);
    }),
  );
}

export const marketScore = async (service: ReputationService, agentId: string): Promise<number> =>
  (await service.ask(getScore, { agentId })).market_score;
