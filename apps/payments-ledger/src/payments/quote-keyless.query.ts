import type { InputOf, OutputOf } from '@market/contracts';
import { type KeylessOffer, quoteKeyless } from '@market/contracts/payments-ledger';
import { feeRateNumber, formatDecimal, splitFee, usdNumber } from '@market/kernel';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { CheckPayable } from '../rails/check-payable.query.js';
import { openExactRoutes } from '../rails/exact-routes.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import type { ExactRequirements } from '../rails/x402/exact-payment.js';
import { OfferReceiptSigner } from './offer-receipt-signer.js';
import { UnstoredOffers, type UnstoredOffer } from './unstored-offers.js';

/**
 * Quotes a keyless call on every chain on which a signed authorization can pay; of a call that costs what it uses, by
 * each scheme. Nothing is stored; see
 * `UnstoredOffers`.
 */
@Injectable()
export class QuoteKeyless {
  constructor(
    private readonly unstoredOffers: UnstoredOffers,
    private readonly offerReceiptSigner: OfferReceiptSigner,
    private readonly checkPayable: CheckPayable,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /** No statement. For a seller that was not looked up recently, a bus request. */
  @HandleRequest(quoteKeyless)
  async execute(
    { listing, priceMicros, usage, jobSeconds }: InputOf<typeof quoteKeyless>,
    context: RequestContext,
  ): Promise<OutputOf<typeof quoteKeyless>> {
    const price = BigInt(priceMicros);
    if (price < BigInt(this.config.minimumX402Micros)) return { offers: [], signatures: [] };
    const { feeBps } = this.config;
    const expiresAt = this.unstoredOffers.expiresAt();
    const offers = await Promise.all(
      openExactRoutes(this.rails).map(async (exactRoute) => {
        const [payee] = await exactRoute.exact.payeesOf([listing.sellerId], context);
        const terms = payee && {
          subjectId: listing.listingId,
          ...payee,
          priceMicros: price,
          feeBps,
          expiresAt,
          jobSeconds,
          usage,
        };
        if (!terms) return [];
        const schemes = usage ? (['upto', 'exact'] as const) : (['exact'] as const);
        return schemes.map((scheme) => this.unstoredOffers.make(exactRoute, terms, scheme));
      }),
    );
    const made = offers.flat().flatMap((offer) => (offer ? [toOffer(offer)] : []));
    if (made.length === 0) {
      const { isPayable, missing } = await this.checkPayable.execute({ sellerId: listing.sellerId }, context);
      if (!isPayable) throw refuse(quoteKeyless, 'seller_not_payable', { networks: missing });
    }
    return {
      offers: made,
      signatures: made.map(({ x402 }) =>
        this.offerReceiptSigner.offer(listing.slug, x402 as ExactRequirements, expiresAt),
      ),
    };
  }
}

function toOffer({ terms, route: { rail, route }, requirements }: UnstoredOffer): KeylessOffer {
  const { amountBaseUnits, priceMicros, feeBps, expiresAt, usage } = terms;
  const { relayRequestId } = requirements.extra;
  const money = splitFee(priceMicros, feeBps);
  return {
    relay_request_id: relayRequestId,
    status: 'pending',
    provider: rail.id,
    requirements: {
      amount: formatDecimal(amountBaseUnits, route.decimals),
      amount_base_units: amountBaseUnits.toString(),
      currency: route.currency,
      network: route.network,
      relayRequestId,
      expiresAt: expiresAt.toISOString(),
    },
    fees: {
      gross_amount: usdNumber(money.gross),
      fee_rate: feeRateNumber(feeBps),
      fee_amount: usdNumber(money.fee),
      provider_receives: usdNumber(money.net),
    },
    retry_headers: {},
    ...(usage && { usage }),
    x402: requirements,
  };
}
