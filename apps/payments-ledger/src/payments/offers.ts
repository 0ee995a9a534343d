import { createHash, randomBytes } from 'node:crypto';
import type { Currency } from '@market/contracts';
import { createOffer } from '@market/contracts/payments-ledger';
import { newId, splitFee, UnavailableError, type Micros, type Usage } from '@market/kernel';
import { isRefusal, refuse, type RequestContext, type Refusal } from '@market/messaging';
import { batchSql, Database, GroupCommit, isUniqueViolation, sql, withParameters } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { Budgets } from '../budgets/budgets.js';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { CheckPayable } from '../rails/check-payable.query.js';
import { chooseRoute, type RailRoute, type RouteChoice } from '../rails/choose-route.js';
import { minimumNotMet } from '../rails/minimum-not-met.js';
import { PAYMENT_RAILS, type Opening, type PaymentRail } from '../rails/payment-rail.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { isLive, LIVE_STATES } from './payment-state.js';
import {
  IS_OFFER,
  isOpenCall,
  isPaidCall,
  openCallOf,
  paymentColumns,
  paymentsAndOffers,
  storeOffers,
  type PaymentRow,
} from './payment.js';

/** What a buyer wants to buy, and the price. */
export interface Order {
  buyerId: string;
  listing: { listingId: string; name: string; slug: string; sellerId: string; preferredCurrency: Currency };
  priceMicros: Micros;
  /** The price is the most that the call can cost then. */
  usage?: Usage | undefined;
  originCurrency?: Currency;
  originChainId?: string;
  originWalletId?: string;
  /**
   * What the offer is for: the digest of a call's body, or the pricing model of a subscription. Equal purchasables
   * share one offer.
   */
  purchasable: Pick<
    PaymentRow,
    'purpose' | 'gateway_request_id' | 'body_digest' | 'pricing_model' | 'included_calls' | 'included_units'
  >;
  /** How long the seller may work on a call after its request is answered; a signature has to last as long. */
  jobSeconds?: number;
}

/** The complete terms of an offer. */
export type Opened = Opening & Required<Pick<Opening, 'relayRequestId' | 'expiresAt'>> & { feeBps: number };
type FoundOffer = PaymentRow & { is_over: boolean };
export type NewOffer = Omit<
  PaymentRow,
  | 'state'
  | 'units'
  | 'received_base_units'
  | 'transaction_hash'
  | 'authorization_id'
  | 'in_use_until'
  | 'created_at'
  | 'retry_until'
  | 'completed_at'
  | 'is_unanswered'
  | 'budgets'
  | 'reserved_on'
> & { offer_key: Buffer; recheck_at: Date | null; key_id: string | null };

type AskedOffer = Pick<NewOffer, 'offer_key' | 'buyer_id' | 'listing_id' | 'body_digest'>;

export const OFFER_COLUMNS =
  `id uuid, relay_request_id text, purpose text, gateway_request_id uuid, pricing_model text, included_calls int,
  included_units jsonb, offer_key bytea,
  buyer_id uuid, seller_id uuid, listing_id uuid, listing_name text, listing_slug text, preferred_currency text,
  body_digest bytea, rail text, scheme text, network text, currency text, decimals int, pay_to text, payee text, gross_micros bigint,
  fee_micros bigint, net_micros bigint, fee_bps int, usage jsonb, quoted_micros bigint, amount_base_units numeric, expires_at timestamptz,
  recheck_at timestamptz, keyless_offer text, job_seconds int, key_id uuid` as const;
const IS_LIVE = `state IN (${LIVE_STATES.map((state) => `'${state}'`).join(', ')})`;

const RETRY_SECONDS = 2;
/** Closed routes are looked at again in about this time. */
const CLOSED_SECONDS = 60;
/** The maximum number of buyers in `room`. */
const MAX_BUYERS = 10_000;

/** The number of open offers of each buyer, and the seconds until the first of them expires. */
const openOffers = batchSql(
  `SELECT buyer_id, count(*)::int AS open, ceil(extract(epoch FROM min(expires_at) - now()))::int AS seconds
   FROM ${paymentsAndOffers('p.buyer_id = ANY($1::uuid[]) AND p.expires_at > now()')} p WHERE state = 'pending' GROUP BY buyer_id`,
);

/** SQL: the live offers of `key` that did not become payments. */
const liveOffers = (key: string): string =>
  `FROM offers p WHERE p.offer_key = ${key} AND p.expires_at > now() AND ${IS_OFFER}`;
/**
 * An offer gets the next number of its key and day, if none of the key is live. Of several processes that find none, one
 * has the number; only at midnight (UTC) there may be two offers. Offers whose rail must be watched are payments at once.
 * Rows are inserted in the order of their keys, so that two processes that quote the same calls do not deadlock.
 */
const insert = withParameters({ offers: OFFER_COLUMNS, watched: 'text[]' }, ({ offers, watched }) =>
  sql(
    'offers.insert',
    `WITH made AS (
       INSERT INTO offers (${offers.columns}, state, nth)
       SELECT *, 'pending', (
         SELECT coalesce(max(nth) + 1, 0) FROM offers o
         WHERE o.offer_key = offers.offer_key AND o.offered_on = (now() AT TIME ZONE 'UTC')::date)
       FROM ${offers.table}
       WHERE NOT EXISTS (${openCallOf('offers')}) AND NOT EXISTS (SELECT ${liveOffers('offers.offer_key')})
         AND NOT EXISTS (SELECT FROM payments p WHERE p.offer_key = offers.offer_key AND p.${IS_LIVE})
       ORDER BY offer_key ON CONFLICT DO NOTHING RETURNING *
     ), stored AS (${storeOffers('made p')} WHERE p.rail = ANY(${watched}))
     SELECT id, created_at FROM made`,
  ),
);
/** The columns of a new row that the insert does not set. */
const NEW = {
  state: 'pending',
  units: null,
  received_base_units: '0',
  transaction_hash: null,
  authorization_id: null,
  in_use_until: null,
  retry_until: null,
  completed_at: null,
  is_unanswered: false,
  budgets: null,
  reserved_on: null,
} as const;

const IS_OVER = `p.state IN ('pending', 'underpaid') AND p.expires_at <= now() AS is_over`;
const findLive = batchSql(
  `SELECT p.offer_key, ${paymentColumns('p')}, ${IS_OVER}
   FROM payments p WHERE p.offer_key = ANY($1::bytea[]) AND p.${IS_LIVE}
   UNION ALL SELECT p.offer_key, ${paymentColumns('p')}, false AS is_over ${liveOffers('ANY($1::bytea[])')}`,
);
/** The calls that a signature pays on any route, by the key of the offer that was asked for. */
const findOpen = batchSql(
  `SELECT asked.offer_key, ${paymentColumns('p')}, false AS is_over
   FROM unnest($1::bytea[], $2::uuid[], $3::uuid[], $4::bytea[]) AS asked (offer_key, buyer_id, listing_id, body_digest)
   JOIN payments p ON p.buyer_id = asked.buyer_id AND p.listing_id = asked.listing_id
     AND p.body_digest = asked.body_digest AND ${isOpenCall('p')}`,
);

/**
 * Creates offers: at most one live offer for each buyer, listing, purchasable and route. Quotes that arrive while a
 * group is being written share the next statement and commit.
 */
@Injectable()
export class Offers {
  private readonly offers = new GroupCommit<NewOffer, FoundOffer>((items) => this.write(items));
  /** Requests to external providers that are in progress, by offer key. */
  private readonly openings = new Map<string, Promise<PaymentRow>>();
  /** How many offers this process may make for a buyer before it counts the open ones again. */
  private readonly room = new Map<string, number>();

  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly budgets: Budgets,
    private readonly checkPayable: CheckPayable,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /** @throws Refusal of `createOffer`. */
  async make(order: Order, context: RequestContext): Promise<PaymentRow> {
    const offer = await this.offer(order, context, this.rails).catch((error: unknown) =>
      this.explained(error, order, context),
    );
    // An offer whose payment is already counted against a budget must not count a second time.
    if (offer.reserved_on === null && !isPaidCall(offer)) await this.budgets.check(offer, context);
    return offer;
  }

  /** A buyer that named no route cannot choose another one, so the reason is in the seller or in the routes' providers. */
  private async explained(
    error: unknown,
    { listing: { sellerId }, originCurrency, originChainId }: Order,
    context: RequestContext,
  ): Promise<never> {
    const namesRoute = originCurrency !== undefined || originChainId !== undefined;
    if (namesRoute || !isRefusal(error, createOffer, 'payment_route_unavailable')) throw error;
    const { isPayable, missing } = await this.checkPayable.execute({ sellerId }, context);
    if (!isPayable) throw refuse(createOffer, 'seller_not_payable', { networks: missing });
    const closed = this.rails.find((rail) => rail.routes().some((route) => route.closed !== undefined));
    if (!closed) throw error;
    throw refuse(createOffer, 'payment_provider_unavailable', {
      provider: closed.id,
      retry_after_seconds: CLOSED_SECONDS,
    });
  }

  /** If the rail of the best route is unavailable, or cannot pay this seller, the next route is offered. */
  private async offer(order: Order, context: RequestContext, rails: PaymentRail[]): Promise<PaymentRow> {
    const choice = this.choose(rails, order);
    if (choice.kind === 'unavailable') throw refuse(createOffer, 'payment_route_unavailable', {});
    if (choice.kind === 'below_minimum') throw minimumNotMet();
    try {
      return await (choice.rail.external
        ? this.openOnce(order, choice, context)
        : this.place(await this.draft(order, choice, context), context));
    } catch (error) {
      const others = rails.filter((rail) => rail !== choice.rail);
      const mayBeOffered =
        isRefusal(error, createOffer, 'payment_provider_unavailable') ||
        isRefusal(error, createOffer, 'payment_route_unavailable');
      if (!mayBeOffered || this.choose(others, order).kind !== 'chosen') throw error;
      return this.offer(order, context, others);
    }
  }

  private choose(rails: PaymentRail[], order: Order): RouteChoice {
    return chooseRoute(rails, {
      originCurrency: order.originCurrency,
      originChainId: order.originChainId,
      preferredCurrency: order.listing.preferredCurrency,
      prefersSignature: order.purchasable.purpose === 'call',
      priceMicros: order.priceMicros,
      mayFallBack: this.config.defaultRoute === 'supported',
    });
  }

  /** The row of an offer that was quoted without being stored. */
  keylessRow(order: Order, option: RailRoute, opened: Opened, offerToken: string): NewOffer {
    // A keyless offer is never quoted again, so its key only has to be unique.
    const offer_key = createHash('sha256').update(`keyless|${opened.relayRequestId}`).digest();
    return Object.assign(this.toRow(order, option, opened), { offer_key, keyless_offer: offerToken });
  }

  private async place(draft: NewOffer, context: RequestContext): Promise<PaymentRow> {
    const found = await this.offers.submit(draft);
    if (!found.is_over) return found;
    const ended = await this.end(found, context);
    return isLive(ended.state) ? ended : this.offers.submit(draft);
  }

  /**
   * Concurrent quotes of the same offer share one request to the external provider. If two processes request it, one of
   * the two offers is discarded.
   */
  private openOnce(order: Order, option: RailRoute, context: RequestContext): Promise<PaymentRow> {
    const key = offerKey(order, option).toString('hex');
    const opening =
      this.openings.get(key) ?? this.openUnlessLive(order, option, context).finally(() => this.openings.delete(key));
    this.openings.set(key, opening);
    return opening;
  }

  private async openUnlessLive(order: Order, option: RailRoute, context: RequestContext): Promise<PaymentRow> {
    const { buyerId: buyer_id, listing, purchasable } = order;
    const asked = { offer_key: offerKey(order, option), buyer_id, listing_id: listing.listingId, ...purchasable };
    const found = (await this.findLive([asked])).at(-1);
    if (found && isPaidCall(found)) return found;
    const live = found?.is_over ? await this.end(found, context) : found;
    if (live && isLive(live.state)) return live;
    const refusal = (await this.countOpen([order.buyerId])).get(order.buyerId);
    if (refusal) throw refusal;
    try {
      return await this.place(await this.draft(order, option, context), context);
    } catch (error) {
      if (isUniqueViolation(error, 'payments_relay_request_id'))
        throw new UnavailableError(`${option.rail.id}, which gave the id of an earlier offer,`, { cause: error });
      throw error;
    }
  }

  /**
   * A payment may have arrived in time and not have been seen yet, so an expired offer is reconciled before a new one
   * replaces it.
   */
  private async end(offer: PaymentRow, context: RequestContext): Promise<PaymentRow> {
    const { payment, observation } = await this.reconcilePayment.reconcile(offer.id, context);
    if (!observation)
      throw refuse(createOffer, 'payment_provider_unavailable', {
        provider: offer.rail,
        retry_after_seconds: RETRY_SECONDS,
      });
    return payment;
  }

  private async draft(order: Order, option: RailRoute, context: RequestContext): Promise<NewOffer> {
    const { buyerId, listing, priceMicros, originWalletId } = order;
    const { rail, route } = option;
    const { feeBps } = this.config;
    const money = splitFee(priceMicros, feeBps);
    const relayRequestId = `0x${randomBytes(32).toString('hex')}`;
    const opening = await rail.open(
      {
        relayRequestId,
        route,
        priceMicros,
        netMicros: money.net,
        feeBps,
        buyerId,
        sellerId: listing.sellerId,
        originWalletId,
      },
      context,
    );
    const expiresAt = new Date(Date.now() + this.config.offerTtlSeconds * 1000);
    const keyId = context.principal?.keyId ?? null;
    return this.toRow(order, option, { feeBps, relayRequestId, expiresAt, ...opening }, keyId);
  }

  private toRow(
    order: Order,
    option: RailRoute,
    { feeBps, relayRequestId, payTo, payee, amountBaseUnits, expiresAt, recheckAt }: Opened,
    keyId: string | null = null,
  ): NewOffer {
    const { buyerId, listing, priceMicros, purchasable } = order;
    const { rail, route } = option;
    const money = splitFee(priceMicros, feeBps);
    return {
      id: newId(),
      relay_request_id: relayRequestId,
      ...purchasable,
      offer_key: offerKey(order, option),
      buyer_id: buyerId,
      seller_id: listing.sellerId,
      listing_id: listing.listingId,
      listing_name: listing.name,
      listing_slug: listing.slug,
      preferred_currency: listing.preferredCurrency,
      rail: rail.id,
      scheme: route.scheme,
      network: route.network,
      currency: route.currency,
      decimals: route.decimals,
      pay_to: payTo,
      payee,
      gross_micros: money.gross.toString(),
      fee_micros: money.fee.toString(),
      net_micros: money.net.toString(),
      fee_bps: feeBps,
      usage: order.usage ?? null,
      quoted_micros: order.usage ? money.gross.toString() : null,
      amount_base_units: amountBaseUnits.toString(),
      expires_at: expiresAt,
      recheck_at: recheckAt ?? null,
      keyless_offer: null,
      job_seconds: order.jobSeconds ?? null,
      key_id: keyId,
    };
  }

  /**
   * The second attempt sees an offer that another process created or ended concurrently. A buyer with too many offers
   * gets no new one.
   */
  private async write(items: NewOffer[]): Promise<(FoundOffer | Error)[]> {
    const found = new Map<string, FoundOffer>();
    const missing = (): NewOffer[] => items.filter((item) => !found.has(item.offer_key.toString('hex')));
    const full = await this.countOpen(this.withoutRoom(items));
    for (let attempt = 1; attempt <= 3 && missing().length > 0; attempt += 1) {
      for (const row of await this.insert(missing().filter((item) => !full.has(item.buyer_id))))
        found.set(row.offer_key.toString('hex'), row);
      const others = missing();
      if (others.length === 0) break;
      for (const row of await this.findLive(others)) found.set(row.offer_key.toString('hex'), row);
    }
    return items.map(
      (item) =>
        found.get(item.offer_key.toString('hex')) ?? full.get(item.buyer_id) ?? new UnavailableError('the offer'),
    );
  }

  /** An open call comes after the live offer of the same key, so that it is the one that is found. */
  private async findLive(items: AskedOffer[]): Promise<(FoundOffer & { offer_key: Buffer })[]> {
    const calls = items.filter(({ body_digest }) => body_digest !== null);
    const [live, open] = await Promise.all([
      this.database.query<FoundOffer & { offer_key: Buffer }>(findLive, [items.map(({ offer_key }) => offer_key)]),
      calls.length === 0
        ? []
        : this.database.query<FoundOffer & { offer_key: Buffer }>(findOpen, [
            calls.map(({ offer_key }) => offer_key),
            calls.map(({ buyer_id }) => buyer_id),
            calls.map(({ listing_id }) => listing_id),
            calls.map(({ body_digest }) => body_digest),
          ]),
    ]);
    return [...live, ...open];
  }

  /** @returns the offers that were inserted. Offers that existed are left out. */
  private async insert(items: NewOffer[]): Promise<(FoundOffer & { offer_key: Buffer })[]> {
    if (items.length === 0) return [];
    const watched = this.rails.filter(({ prunable }) => !prunable).map(({ id }) => id);
    const rows = await this.database.query<{ id: string; created_at: Date }>(
      insert,
      insert.values({ offers: items, watched }),
    );
    const createdAt = new Map(rows.map((row) => [row.id, row.created_at]));
    return items.flatMap((item) => {
      const created_at = createdAt.get(item.id);
      if (!created_at) return [];
      this.room.set(item.buyer_id, (this.room.get(item.buyer_id) ?? 0) - 1);
      // In Node.js, assigning to an object with many properties is a hundred times faster than spreading two objects
      // into a third.
      return [Object.assign(item, NEW, { created_at, is_over: false })];
    });
  }

  /** Returns the buyers that may have reached the limit of open offers. */
  private withoutRoom(items: NewOffer[]): string[] {
    return [...new Set(items.map((item) => item.buyer_id))].filter((buyer) => (this.room.get(buyer) ?? 0) <= 0);
  }

  /**
   * Counts the open offers of buyers. The process then makes a tenth of the remaining offers of a buyer without
   * counting again. Ten processes together thus stay within the limit, and the count is exact near the limit.
   * @returns the refusals of the buyers that have reached the limit.
   */
  private async countOpen(buyerIds: string[]): Promise<Map<string, Refusal>> {
    const refusals = new Map<string, Refusal>();
    if (buyerIds.length === 0) return refusals;
    const limit = this.config.openOffersPerBuyer;
    const rows = await this.database.query<{ buyer_id: string; open: number; seconds: number }>(openOffers, [buyerIds]);
    const found = new Map(rows.map((row) => [row.buyer_id, row]));
    if (this.room.size + buyerIds.length > MAX_BUYERS) this.room.clear();
    for (const buyerId of buyerIds) {
      const { open, seconds } = found.get(buyerId) ?? { open: 0, seconds: 0 };
      this.room.set(buyerId, Math.floor((limit - open) / 10));
      if (open >= limit)
        refusals.set(
          buyerId,
          refuse(createOffer, 'too_many_open_offers', { limit, retry_after_seconds: Math.max(1, seconds) }),
        );
    }
    return refusals;
  }
}

/** An external provider refunds to the wallet that the offer names, so each wallet has its own offer. */
function offerKey({ buyerId, listing, purchasable, originWalletId }: Order, { rail, route }: RailRoute): Buffer {
  const parts = [
    buyerId,
    listing.listingId,
    keyOf(purchasable),
    rail.id,
    route.network,
    route.currency,
    ...(rail.external && originWalletId ? [originWalletId] : []),
  ];
  return createHash('sha256').update(parts.join('|')).digest();
}

/** The two forms cannot collide: a hex digest never begins with "subscription". */
const keyOf = ({ body_digest, pricing_model, included_calls, included_units }: Order['purchasable']): string =>
  body_digest?.toString('hex') ??
  ['subscription', pricing_model, included_calls ?? (included_units && Object.values(included_units))]
    .join(' ')
    .trimEnd();
