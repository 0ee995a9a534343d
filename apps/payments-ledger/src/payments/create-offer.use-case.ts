import { createHash, randomBytes } from 'node:crypto';
import { createOffer } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId, splitFee } from '@market/kernel';
import { principalOf, refuse, type Call } from '@market/messaging';
import { Database, GroupCommit, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { chooseRoute } from '../rails/choose-route.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { PRICE_FEED, toBaseUnits, type PriceFeed } from '../rails/price-feed.js';
import { moneyOf, paymentColumns, toOffer, type PaymentRow } from './payment.js';

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
const names = Object.keys(COLUMNS) as (keyof NewOffer)[];

const insertOrFind = sql(
  'payments.insert-or-find-offer',
  `WITH wanted AS (
     SELECT * FROM unnest(${names.map((name, index) => `$${index + 1}::${COLUMNS[name]}[]`).join(', ')}) AS w (${names.join(', ')})
   ), outdated AS (
     UPDATE payments p SET state = 'expired' FROM wanted w
     WHERE p.offer_key = w.offer_key AND p.state = 'pending' AND p.expires_at <= now()
     RETURNING p.offer_key
   ), inserted AS (
     INSERT INTO payments (state, ${names.join(', ')})
     SELECT 'pending', ${names.map((name) => `w.${name}`).join(', ')} FROM wanted w
     WHERE NOT EXISTS (SELECT 1 FROM outdated o WHERE o.offer_key = w.offer_key)
     ON CONFLICT (offer_key) WHERE state IN ('pending', 'underpaid', 'verified', 'in_flight') DO NOTHING
     RETURNING *
   )
   SELECT offer_key, ${paymentColumns('i')} FROM inserted i
   UNION ALL
   SELECT p.offer_key, ${paymentColumns('p')} FROM payments p JOIN wanted w USING (offer_key)
   WHERE p.state IN ('underpaid', 'verified', 'in_flight') OR (p.state = 'pending' AND p.expires_at > now())`,
);

/**
 * One offer per buyer, listing, body and route while it lives. One statement and one commit, shared by all quotes that
 * arrive while the previous group is being written.
 */
@Injectable()
export class CreateOffer {
  private readonly offers = new GroupCommit<NewOffer, PaymentRow>((items) => this.write(items));

  constructor(
    private readonly database: Database,
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
    const row = await this.offers.submit(this.draft(input, accountId, choice));
    return { offer: toOffer(row), money: moneyOf(row), gatewayRequestId: row.gateway_request_id, isNew: row.gateway_request_id === input.gatewayRequestId };
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

  /** An offer that had just expired, or was made by another process this very moment, shows on the second look. */
  private async write(items: NewOffer[]): Promise<PaymentRow[]> {
    const found = new Map<string, PaymentRow>();
    for (let look = 1; look <= 3; look += 1) {
      const missing = items.filter((item) => !found.has(item.offer_key.toString('hex')));
      if (missing.length === 0) break;
      const rows = await this.database.query<PaymentRow & { offer_key: Buffer }>(insertOrFind, names.map((name) => missing.map((item) => item[name])));
      for (const row of rows) found.set(row.offer_key.toString('hex'), row);
    }
    return items.map((item) => found.get(item.offer_key.toString('hex'))!);
  }
}
