import {
  MarketplaceError,
  type CreatedListing,
  type CreateListing,
  type HttpAnswer,
  type SandboxOutcome,
  type SubscriptionOffer,
} from '@market/sdk';
import { withClient } from '@market/testing';
import { bodyOf } from './buyer.js';
import type { Agent, Harness } from './harness.js';

let feeds = 0;

/** Creates a listing with a subscription. */
export function listFeed(seller: Agent, listing: Partial<CreateListing> = {}): Promise<CreatedListing> {
  return seller.market.listings.create({
    name: `Feed ${(feeds += 1)} of a test`,
    description: 'Sends what it has, for the tests of subscriptions.',
    pricing_model: 'monthly',
    pricing_amount: 9.99,
    ...listing,
  });
}

export const freeFeed: Partial<CreateListing> = { pricing_model: 'free', pricing_amount: 0 };

/** Sends one POST /subscribe. */
export const subscribeOnce = (agent: Agent, body: object, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
  agent.market.send('POST', '/subscribe', { body, headers });

/** Returns the payment of a 402 and asserts that it matches the request. */
export async function offerOf(agent: Agent, listing: { id: string }, wish: object = {}): Promise<SubscriptionOffer> {
  const answer = await subscribeOnce(agent, { listing_id: listing.id, ...wish });
  expect(answer).toMatchObject({
    status: 402,
    json: { success: false, error: { code: 'PAYMENT_REQUIRED' }, data: { payment_required: true } },
  });
  return bodyOf(answer).data as SubscriptionOffer;
}

/** Requests an offer and pays it in the sandbox. @returns the offer. */
export async function paidOffer(
  agent: Agent,
  listing: { id: string },
  outcome: SandboxOutcome = 'paid',
): Promise<SubscriptionOffer> {
  const offer = await offerOf(agent, listing);
  await agent.market.sandbox.pay(offer.requirements.relayRequestId, { outcome });
  return offer;
}

/** `accepted` of a payload that pays this offer in the sandbox. */
export const acceptedOf = ({
  requirements: { network, amount_base_units: amount, depositAddress: payTo, relayRequestId },
}: Pick<SubscriptionOffer, 'requirements'>) => ({ network, amount, payTo, extra: { relayRequestId } });

/** Sends one POST /payments/verify. */
export function verifyOnce(
  agent: Agent,
  offer: SubscriptionOffer,
  proof: object = { relay_request_id: offer.requirements.relayRequestId },
): Promise<HttpAnswer> {
  return agent.market.send('POST', '/payments/verify', { body: { payment_id: offer.payment_id, ...proof } });
}

/** Moves the stored times of subscriptions and offers into the past, as if the time had passed. */
export const letTimePass = (
  harness: Pick<Harness, 'databaseUrl'>,
  what: { period?: string; offer?: string; window?: string; look?: string; signatures?: true },
): Promise<unknown> =>
  withClient(harness.databaseUrl, async (client) => {
    if (what.period)
      await client.query(
        "UPDATE payments_ledger.subscriptions SET current_period_end = now() - interval '1 second' WHERE id = $1",
        [what.period],
      );
    if (what.offer)
      for (const table of ['offers', 'payments'])
        await client.query(
          `UPDATE payments_ledger.${table} SET expires_at = now() - interval '1 second' WHERE id = $1`,
          [what.offer],
        );
    if (what.window)
      await client.query(
        "UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1",
        [what.window],
      );
    if (what.signatures)
      await client.query(
        "UPDATE payments_ledger.authorizations SET created_at = created_at - interval '3 minutes' WHERE network LIKE 'solana:%'",
      );
    if (what.look)
      await client.query('UPDATE payments_ledger.payments SET recheck_at = now() WHERE id = $1', [what.look]);
  });

/** Returns the status and the reason of a refusal. */
export async function refusal(outcome: Promise<unknown>): Promise<[number, string | undefined]> {
  const error: unknown = await outcome.then(
    (value) => new Error(`it was not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof MarketplaceError) return [error.status, error.details?.reason as string | undefined];
  throw error;
}
