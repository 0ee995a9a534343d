import type { Currency } from '@market/contracts';
import { findSettlementWallets } from '@market/contracts/identity';
import { createOffer } from '@market/contracts/payments-ledger';
import { invariant } from '@market/kernel';
import { refuse, type RequestContext, type MessageBus } from '@market/messaging';
import { Logger } from '@nestjs/common';
import type { Observation } from '../../payments/payment-state.js';
import { minimumNotMet } from '../minimum-not-met.js';
import {
  USDC_TERMS,
  type DraftOffer,
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
}

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
  private readonly logger = new Logger('RelayRail');
  private readonly api: RelayApi;
  private readonly ttlSeconds: number;
  /** Requests in progress by request id. Concurrent callers share one answer. */
  private readonly asked = new Map<string, Promise<RelayStatus>>();

  constructor(
    private readonly settings: RelayRailSettings,
    private readonly bus: Pick<MessageBus, 'request'>,
  ) {
    this.api = new RelayApi(settings);
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
    const { depositAddress: payTo, ...quoted } = await this.quote(await this.termsOf(draft, context));
    const endsAt = Date.now() + this.ttlSeconds * 1000;
    return {
      ...quoted,
      payTo,
      payee: 'split',
      expiresAt: new Date(endsAt),
      recheckAt: new Date(endsAt + SETTLED_AFTER_MS),
    };
  }

  async observe(offer: WatchedOffer): Promise<Observation> {
    const isOver = Date.now() > offer.createdAt.getTime() + this.ttlSeconds * 1000 + SETTLED_AFTER_MS;
    return observationOf(await this.ask(offer), offer.amountBaseUnits, isOver);
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

  private async quote(terms: QuoteTerms): Promise<QuotedOffer> {
    try {
      return readQuote(await this.api.quote(quoteRequest(terms)), terms);
    } catch (error) {
      this.logger.warn(`no offer from ${terms.from.network} ${terms.from.currency}: ${(error as Error).message}`);
      throw quoteRefusal(error, this.id);
    }
  }

  private ask({ relayRequestId, route }: WatchedOffer): Promise<RelayStatus> {
    const asked =
      this.asked.get(relayRequestId) ??
      this.status(relayRequestId, knownAsset(route).chainId).finally(() => this.asked.delete(relayRequestId));
    this.asked.set(relayRequestId, asked);
    return asked;
  }

  private async status(relayRequestId: string, originChainId: number): Promise<RelayStatus> {
    return readStatus(await this.api.status(relayRequestId), originChainId);
  }
}

/** The currency of a route, including routes that are no longer offered. */
function knownAsset({ network, currency }: { network: string; currency: Currency }): RelayAsset {
  const place = assetOf(network, currency);
  invariant(place, `Relay's name of ${currency} on ${network} is known`);
  return place;
}
