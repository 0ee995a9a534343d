import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { exactRoutes, type ExactRoute } from '../rails/exact-routes.js';
import { baseUnitsOf, PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import type { ExactPayload, ExactRequirements } from '../rails/x402/exact-payment.js';
import { OfferTokens, type KeylessTerms } from './keyless-terms.js';

type Requirements = ExactRequirements & { extra: { offer: string } };

/** An offer that is stored only once it is paid. It was made by this marketplace. */
export interface UnstoredOffer {
  terms: KeylessTerms;
  route: ExactRoute;
  requirements: Requirements;
}

/** Makes the offers that a signature alone can pay and that carry their own terms: of keyless calls and of fees. */
@Injectable()
export class UnstoredOffers {
  constructor(
    private readonly offerTokens: OfferTokens,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /** Until when an offer of now can be paid, in whole seconds. */
  expiresAt(): Date {
    return new Date((Math.floor(Date.now() / 1_000) + this.config.offerTtlSeconds) * 1_000);
  }

  /** Returns null while the route's facilitator has not named its fee payer. */
  make(
    route: ExactRoute,
    asked: Omit<KeylessTerms, 'network' | 'amountBaseUnits'>,
    scheme: ExactRequirements['scheme'] = 'exact',
  ): UnstoredOffer | null {
    const terms = {
      ...asked,
      network: route.route.network,
      amountBaseUnits: baseUnitsOf(asked.priceMicros, route.route),
    };
    const { offer, relayRequestId } = this.offerTokens.issue(terms);
    const requirements = requirementsOf(route, terms, relayRequestId, { scheme, extra: { offer } });
    return requirements && { terms, route, requirements };
  }

  /** The offer that a payload says it pays. It names the fee payer, which may have changed since it was made. */
  read({ accepted }: ExactPayload): UnstoredOffer | undefined {
    const { relayRequestId, offer } = accepted.extra;
    const terms = this.offerTokens.read({ relayRequestId, offer });
    const route = exactRoutes(this.rails).find(({ route }) => route.network === terms?.network);
    if (!terms || !route || offer === undefined) return undefined;
    const requirements = requirementsOf(route, terms, relayRequestId, accepted);
    return requirements ? { terms, route, requirements } : undefined;
  }
}

/** @param accepted what was signed, or what of it is known before. */
function requirementsOf(
  { exact, route }: ExactRoute,
  { payTo, amountBaseUnits, jobSeconds, usage }: KeylessTerms,
  relayRequestId: string,
  { scheme, extra }: { scheme: string; extra: Partial<ExactPayload['accepted']['extra']> },
): Requirements | null {
  const priced = { relayRequestId, route, amountBaseUnits, payTo, jobSeconds };
  const asked =
    scheme === 'upto' && usage
      ? exact.upto(priced, extra.facilitatorAddress)
      : exact.requirements(priced, extra.feePayer);
  return asked && { ...asked, extra: { ...asked.extra, offer: extra.offer! } };
}
