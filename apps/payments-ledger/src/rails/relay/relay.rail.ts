import type { Currency } from '@market/contracts';
import { findSettlementWallets } from '@market/contracts/identity';
import { createOffer } from '@market/contracts/payments-ledger';
import { invariant } from '@market/kernel';
import { refuse, type RequestContext, type MessageBus } from '@market/messaging';
import { Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Observation } from '../../payments/payment-state.js';
import { minimumNotMet } from '../minimum-not-met.js';
import {
  USDC_TERMS,
  type DraftOffer,
  type Freshness,
  type Opening,
  type PaymentRail,
  type Route,
  type WatchedOffer,
} from '../payment-rail.js';
import { quoteRefusal } from './quote-refusal.js';
import { RelayApi, type RelayApiSettings } from './relay-api.js';
import { quoteRequest, readQuote, type QuotedOffer, type QuoteTerms } from './relay-quote.js';
import { assetOf, type RelayAsset, type RelayRoute } from './relay-settings.js';
import { dispositionOf, observationOf, readStatus, type RelayStatus } from './relay-status.js';

export interface RelayRailSettings extends RelayApiSettings {
  routes: RelayRoute[];
  destination: RelayAsset;
  /** The EVM address to which Relay credits the marketplace's fee. */
  feeRecipient: string | undefined;
  referrer: string;
  /** How long an offer can be paid. Relay sends back money that arrives later. */
  ttlSeconds: number;
  mostCostMicros: bigint;
  /** How long an answer of Relay about an offer is repeated; 0 for never. */
  statusIntervalMs: number;
}

const MAX_KNOWN = 10_000;

/** The shortest time that Relay accepts. */
const MIN_TTL_SECONDS = 600;
/** Money that was in transit when the offer expired has arrived or was sent back within this time. */
const SETTLED_AFTER_MS = 3_600_000;

/**
 * Payments through Relay. A buyer pays in any currency on any chain that Relay serves, and the seller receives USDC in
 * its own wallet. The marketplace holds no money and no key. The state of a payment is the state that Relay reports.
 */
export class RelayRail implements PaymentRail {
  readonly id = 'relay';
  readonly external = true;
  readonly payout: PaymentRail['payout'];
  private readonly logger = new Logger('RelayRail');
  private readonly api: RelayApi;
  private readonly ttlSeconds: number;
  /** Requests in progress by request id. Concurrent callers share one answer. */
  private readonly asked = new Map<string, Promise<RelayStatus>>();
  /** The last answers by request id. A buyer that repeats its call gets the same one for a while. */
  private readonly known: LRUCache<string, RelayStatus>;

  constructor(
    private readonly settings: RelayRailSettings,
    private readonly bus: Pick<MessageBus, 'request'>,
  ) {
    const { chainType, network } = settings.destination;
    this.payout = { chainType, networks: [network], isRequired: true };
    this.api = new RelayApi(settings);
    this.known = new LRUCache({ max: MAX_KNOWN, ttl: settings.statusIntervalMs, ttlResolution: 0 });
    this.ttlSeconds = Math.max(settings.ttlSeconds, MIN_TTL_SECONDS);
  }

  routes(): Route[] {
    return this.settings.routes.map(({ network, currency, decimals, minimumMicros }) => ({
      network,
      currency,
      decimals,
      scheme: 'deposit',
      minimumMicros,
      unitPriceMicros: currency === 'USDC' ? USDC_TERMS.unitPriceMicros : null,
    }));
  }

  /**
   * Makes one bus request and one request to Relay. The offer ends no earlier than at Relay, so that Relay delivers no
   * payment after the offer has ended.
   */
  async open(draft: DraftOffer, context: RequestContext): Promise<Opening> {
    if (draft.netMicros === 0n) throw minimumNotMet();
    const { depositAddress: payTo, ...quoted } = await this.quote(await this.termsOf(draft, context), draft.buyerId);
    const endsAt = Date.now() + this.ttlSeconds * 1000;
    return {
      ...quoted,
      payTo,
      payee: 'split',
      expiresAt: new Date(endsAt),
      recheckAt: new Date(endsAt + SETTLED_AFTER_MS),
    };
  }

  async observe(offer: WatchedOffer, _through?: unknown, freshness: Freshness = 'current'): Promise<Observation> {
    const isOver = Date.now() > offer.createdAt.getTime() + this.ttlSeconds * 1000 + SETTLED_AFTER_MS;
    return observationOf(await this.ask(offer, freshness), offer.amountBaseUnits, isOver);
  }

  async disposition(offer: WatchedOffer): ReturnType<NonNullable<PaymentRail['disposition']>> {
    return dispositionOf(await this.ask(offer));
  }

  private async termsOf(draft: DraftOffer, context: RequestContext): Promise<QuoteTerms> {
    const { destination: to, feeRecipient, referrer, mostCostMicros } = this.settings;
    const from = knownAsset(draft.route);
    const { payer, payout } = await this.bus.request(
      findSettlementWallets,
      {
        payerChainType: from.chainType,
        payerWalletId: draft.originWalletId,
        sellerId: draft.sellerId,
        payoutChainType: to.chainType,
      },
      context,
    );
    if (payout === null) throw refuse(createOffer, 'payment_route_unavailable', {});
    if (payer === null)
      throw refuse(createOffer, 'payer_wallet_required', { chain_type: from.chainType, network: from.network });
    return { draft, from, to, payer, payout, feeRecipient, referrer, ttlSeconds: this.ttlSeconds, mostCostMicros };
  }

  private async quote(terms: QuoteTerms, buyerId: string): Promise<QuotedOffer> {
    try {
      return readQuote(await this.api.quote(quoteRequest(terms), buyerId), terms);
    } catch (error) {
      this.logger.warn(`no offer from ${terms.from.network} ${terms.from.currency}: ${(error as Error).message}`);
      throw quoteRefusal(error, this.id);
    }
  }

  private ask(
    { relayRequestId, buyerId, route }: WatchedOffer,
    freshness: Freshness = 'current',
  ): Promise<RelayStatus> {
    const known = freshness === 'recent' ? this.known.get(relayRequestId) : undefined;
    if (known) return Promise.resolve(known);
    const { chainId } = knownAsset(route);
    const asked =
      this.asked.get(relayRequestId) ??
      this.api
        .status(relayRequestId, buyerId, freshness === 'announced')
        .then((answer) => {
          const status = readStatus(answer, chainId);
          if (this.settings.statusIntervalMs > 0) this.known.set(relayRequestId, status);
          return status;
        })
        .finally(() => this.asked.delete(relayRequestId));
    this.asked.set(relayRequestId, asked);
    return asked;
  }
}

/** The currency of a route, including routes that are no longer offered. */
function knownAsset({ network, currency }: { network: string; currency: Currency }): RelayAsset {
  const place = assetOf(network, currency);
  invariant(place, `Relay's name of ${currency} on ${network} is known`);
  return place;
}
