import { createHash, randomBytes } from 'node:crypto';
import type { Currency } from '@market/contracts';
import { createOffer } from '@market/contracts/payments-ledger';
import { newId, splitFee, UnavailableError, type Micros } from '@market/kernel';
import { refuse, type Call } from '@market/messaging';
import { batchSql, Database, GroupCommit } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { chooseRoute, type RouteQuote } from '../rails/choose-route.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { Prices } from '../rails/prices/prices.js';
import { RETRY_AFTER_SECONDS } from '../rails/prices/watched-price.js';
import { ObservePayment } from './observe-payment.js';
import { isLive, LIVE_STATES } from './payment-state.js';
import { paymentColumns, type PaymentRow } from './payment.js';

/** What is offered to whom, and at what price. */
export interface Order {
  buyerId: string;
  listing: { listingId: string; name: string; slug: string; sellerId: string; preferredCurrency: Currency };
  priceMicros: Micros;
  originCurrency?: Currency;
  originChainId?: string;
  /** Offers for the same thing are one: the digest of a call's body, the model of a subscription. */
  thing: Pick<PaymentRow, 'purpose' | 'gateway_request_id' | 'body_digest' | 'pricing_model'>;
}

type FoundOffer = PaymentRow & { is_over: boolean };
type NewOffer = Omit<PaymentRow, 'state' | 'received_base_units' | 'transaction_hash' | 'authorization_id' | 'fence' | 'lease_until' | 'created_at' | 'retry_until' | 'completed_at'> & { offer_key: Buffer; look_again_at: Date | null; unit_price_micros: string; priced_at: Date | null };

const COLUMNS: Record<keyof NewOffer, string> = {
  id: 'uuid',
  relay_request_id: 'text',
  purpose: 'text',
  gateway_request_id: 'uuid',
  pricing_model: 'text',
  offer_key: 'bytea',
  buyer_id: 'uuid',
  seller_id: 'uuid',
  listing_id: 'uuid',
  listing_name: 'text',
  listing_slug: 'text',
  preferred_currency: 'text',
  body_digest: 'bytea',
  rail: 'text',
  scheme: 'text',
  network: 'text',
  currency: 'text',
  decimals: 'int',
  deposit_address: 'text',
  gross_micros: 'bigint',
  fee_micros: 'bigint',
  net_micros: 'bigint',
  fee_bps: 'int',
  amount_base_units: 'numeric',
  expires_at: 'timestamptz',
  look_again_at: 'timestamptz',
  unit_price_micros: 'bigint',
  priced_at: 'timestamptz',
};
const IS_LIVE = `state IN (${LIVE_STATES.map((state) => `'${state}'`).join(', ')})`;
const names = Object.keys(COLUMNS) as (keyof NewOffer)[];

/** Rows are inserted in one order, so that two processes that quote the same calls wait for each other instead of deadlocking. */
const insertOrFind = batchSql(
  `WITH wanted AS (
     SELECT * FROM unnest(${names.map((name, index) => `$${index + 1}::${COLUMNS[name]}[]`).join(', ')}) AS w (${names.join(', ')})
   ), inserted AS (
     INSERT INTO payments (state, ${names.join(', ')})
     SELECT 'pending', ${names.map((name) => `w.${name}`).join(', ')} FROM wanted w ORDER BY w.offer_key
     ON CONFLICT (offer_key) WHERE ${IS_LIVE} DO NOTHING
     RETURNING *
   )
   SELECT offer_key, ${paymentColumns('i')}, false AS is_over FROM inserted i
   UNION ALL
   SELECT p.offer_key, ${paymentColumns('p')}, p.state IN ('pending', 'underpaid') AND p.expires_at <= now() AS is_over
   FROM payments p JOIN wanted w USING (offer_key) WHERE p.${IS_LIVE}`,
);

/**
 * One offer per buyer, listing, thing and route while it lives. One statement and one commit, shared by all quotes that
 * arrive while the previous group is being written.
 */
@Injectable()
export class Offers {
  private readonly offers = new GroupCommit<NewOffer, FoundOffer>((items) => this.write(items));

  constructor(
    private readonly database: Database,
    private readonly observePayment: ObservePayment,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    private readonly prices: Prices,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /** @throws Refusal `payment_route_unavailable`, `payment_route_minimum_not_met`, `price_unavailable`. */
  async make(order: Order, call: Call): Promise<PaymentRow> {
    const choice = await chooseRoute(this.rails, this.prices, {
      originCurrency: order.originCurrency,
      originChainId: order.originChainId,
      preferredCurrency: order.listing.preferredCurrency,
      priceMicros: order.priceMicros,
      mayFallBack: this.config.defaultRoute === 'supported',
    });
    if (choice.kind === 'unavailable') throw refuse(createOffer, 'payment_route_unavailable', {});
    if (choice.kind === 'below_minimum') {
      throw refuse(createOffer, 'payment_route_minimum_not_met', {
        seller_endpoint_called: false,
        recommended_origin_currency: 'SOL',
        recommended_gateway_headers: { 'X-Market-Origin-Currency': 'SOL' },
      });
    }
    if (choice.kind === 'price_unavailable') throw refuse(createOffer, 'price_unavailable', { currency: choice.currency, retry_after_seconds: RETRY_AFTER_SECONDS });
    const draft = this.draft(order, choice);
    const found = await this.offers.submit(draft);
    if (!found.is_over) return found;
    // Money may have come in time and not been seen: the old offer gets a last look before a new one takes its place.
    const ended = await this.observePayment.execute(found.id, call);
    return isLive(ended.state) ? ended : this.offers.submit(draft);
  }

  private draft({ buyerId, listing, priceMicros, thing }: Order, { rail, route, unitPrice, amountBaseUnits }: RouteQuote): NewOffer {
    const money = splitFee(priceMicros, this.config.feeBps);
    const relayRequestId = `0x${randomBytes(32).toString('hex')}`;
    const expiresAt = new Date(Date.now() + this.config.offerTtlSeconds * 1000);
    return {
      id: newId(),
      relay_request_id: relayRequestId,
      ...thing,
      offer_key: createHash('sha256').update([buyerId, listing.listingId, keyOf(thing), rail.id, route.network, route.currency].join('|')).digest(),
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
      deposit_address: rail.depositAddress({ relayRequestId, route }),
      gross_micros: money.gross.toString(),
      fee_micros: money.fee.toString(),
      net_micros: money.net.toString(),
      fee_bps: this.config.feeBps,
      amount_base_units: amountBaseUnits.toString(),
      unit_price_micros: unitPrice.micros.toString(),
      priced_at: unitPrice.at,
      expires_at: expiresAt,
      look_again_at: rail.forgets ? null : expiresAt,
    };
  }

  /** An offer that another process made or ended this very moment shows on the second look. */
  private async write(items: NewOffer[]): Promise<(FoundOffer | Error)[]> {
    const found = new Map<string, FoundOffer>();
    for (let look = 1; look <= 3; look += 1) {
      const missing = items.filter((item) => !found.has(item.offer_key.toString('hex')));
      if (missing.length === 0) break;
      const rows = await this.database.query<FoundOffer & { offer_key: Buffer }>(insertOrFind, names.map((name) => missing.map((item) => item[name])));
      for (const row of rows) found.set(row.offer_key.toString('hex'), row);
    }
    return items.map((item) => found.get(item.offer_key.toString('hex')) ?? new UnavailableError('the offer'));
  }
}

/** The hex digest of a body is never the name of a model. */
const keyOf = ({ body_digest, pricing_model }: Order['thing']): string => body_digest?.toString('hex') ?? `subscription ${pricing_model}`;
