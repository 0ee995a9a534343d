import { createHash, randomBytes } from 'node:crypto';
import { createOffer } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId, splitFee, UnavailableError } from '@market/kernel';
import { principalOf, refuse, type Call } from '@market/messaging';
import { batchSql, Database, GroupCommit } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { chooseRoute } from '../rails/choose-route.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { PRICE_FEED, toBaseUnits, type PriceFeed } from '../rails/price-feed.js';
import { ObservePayment } from './observe-payment.js';
import { isLive, LIVE_STATES } from './payment-state.js';
import { moneyOf, paymentColumns, toOffer, type PaymentRow } from './payment.js';

type FoundOffer = PaymentRow & { is_over: boolean };
type NewOffer = Omit<PaymentRow, 'state' | 'received_base_units' | 'transaction_hash' | 'fence' | 'lease_until' | 'retry_until' | 'completed_at'> & { offer_key: Buffer };

const COLUMNS: Record<keyof NewOffer, string> = {
  id: 'uuid',
  relay_request_id: 'text',
  gateway_request_id: 'uuid',
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
 * One offer per buyer, listing, body and route while it lives. One statement and one commit, shared by all quotes that
 * arrive while the previous group is being written.
 */
@Injectable()
export class CreateOffer {
  private readonly offers = new GroupCommit<NewOffer, FoundOffer>((items) => this.write(items));

  constructor(
    private readonly database: Database,
    private readonly observePayment: ObservePayment,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(PRICE_FEED) private readonly prices: PriceFeed,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  async execute(input: InputOf<typeof createOffer>, call: Call): Promise<OutputOf<typeof createOffer>> {
    const { accountId } = principalOf(call);
    const choice = chooseRoute(this.rails, {
      originCurrency: input.originCurrency,
      originChainId: input.originChainId,
      preferredCurrency: input.listing.preferredCurrency,
      priceMicros: BigInt(input.priceMicros),
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
    const row = await this.offer(this.draft(input, accountId, choice), call);
    return { offer: toOffer(row), money: moneyOf(row), gatewayRequestId: row.gateway_request_id, isNew: row.gateway_request_id === input.gatewayRequestId };
  }

  private async offer(draft: NewOffer, call: Call): Promise<PaymentRow> {
    const found = await this.offers.submit(draft);
    if (!found.is_over) return found;
    // Money may have come in time and not been seen: the old offer gets a last look before a new one takes its place.
    const ended = await this.observePayment.execute(found.id, call);
    return isLive(ended.state) ? ended : this.offers.submit(draft);
  }

  private draft(input: InputOf<typeof createOffer>, buyerId: string, { rail, route }: { rail: PaymentRail; route: ReturnType<PaymentRail['routes']>[number] }): NewOffer {
    const money = splitFee(BigInt(input.priceMicros), this.config.feeBps);
    const relayRequestId = `0x${randomBytes(32).toString('hex')}`;
    const { listing } = input;
    return {
      id: newId(),
      relay_request_id: relayRequestId,
      gateway_request_id: input.gatewayRequestId,
      offer_key: createHash('sha256').update([buyerId, listing.listingId, input.bodyDigest, rail.id, route.network, route.currency].join('|')).digest(),
      buyer_id: buyerId,
      seller_id: listing.sellerId,
      listing_id: listing.listingId,
      listing_name: listing.name,
      listing_slug: listing.slug,
      preferred_currency: listing.preferredCurrency,
      body_digest: Buffer.from(input.bodyDigest, 'hex'),
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
      amount_base_units: toBaseUnits(money.gross, this.prices.priceMicros(route.currency), route.decimals).toString(),
      expires_at: new Date(Date.now() + this.config.offerTtlSeconds * 1000),
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
