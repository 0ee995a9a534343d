import type { InputOf, OutputOf } from '@market/contracts';
import type { KeylessOffer, quoteKeyless } from '@market/contracts/payments-ledger';
import { feeRateNumber, formatDecimal, splitFee, usdNumber } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { exactRoutes, type ExactRoute } from '../rails/exact-routes.js';
import { baseUnitsOf, PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import type { ExactRequirements } from '../rails/x402/exact-payment.js';
import { KeylessTermsSeal, type KeylessTerms } from './keyless-terms.js';
import { OfferReceiptSigner } from './offer-receipt-signer.js';

/**
 * Quotes a keyless call on every chain on which a signed authorization can pay. Nothing is stored; see
 * `KeylessTermsSeal`.
 */
@Injectable()
export class QuoteKeyless {
  constructor(
    private readonly seal: KeylessTermsSeal,
    private readonly offerReceiptSigner: OfferReceiptSigner,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  async execute(
    { listing, priceMicros }: InputOf<typeof quoteKeyless>,
    context: RequestContext,
  ): Promise<OutputOf<typeof quoteKeyless>> {
    const price = BigInt(priceMicros);
    if (price < BigInt(this.config.minimumX402Micros)) return { offers: [], signatures: [] };
    const { feeBps, offerTtlSeconds } = this.config;
    const expiresAt = new Date((Math.floor(Date.now() / 1_000) + offerTtlSeconds) * 1_000);
    const offers = await Promise.all(
      exactRoutes(this.rails).map(async (exactRoute) => {
        const [payee] = await exactRoute.exact.payeesOf([listing.sellerId], context);
        return payee
          ? this.offer(exactRoute, {
              subjectId: listing.listingId,
              network: exactRoute.route.network,
              ...payee,
              amountBaseUnits: baseUnitsOf(price, exactRoute.route),
              priceMicros: price,
              feeBps,
              expiresAt,
            })
          : null;
      }),
    );
    const made = offers.filter((offer) => offer !== null);
    return {
      offers: made,
      signatures: await Promise.all(
        made.map(({ x402 }) => this.offerReceiptSigner.offer(listing.slug, x402 as ExactRequirements, expiresAt)),
      ),
    };
  }

  private offer({ rail, exact, route }: ExactRoute, terms: KeylessTerms): KeylessOffer | null {
    const { offer, relayRequestId } = this.seal.seal(terms);
    const { amountBaseUnits, priceMicros, feeBps, expiresAt, payTo } = terms;
    const asked = exact.requirements({ relayRequestId, route, amountBaseUnits, payTo });
    if (!asked) return null;
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
      x402: { ...asked, extra: { ...asked.extra, offer } },
    };
  }
}
