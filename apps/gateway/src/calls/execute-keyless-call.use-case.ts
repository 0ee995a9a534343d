import type { CallableOffering } from '@market/contracts/catalog';
import { executeKeylessCall } from '@market/contracts/gateway';
import { quoteKeyless } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { CallableEndpoints } from '../endpoints/callable-endpoints.js';
import { InputSchemas } from '../offerings/input-schemas.js';
import { Offerings } from '../offerings/offerings.js';
import { answered, type CallOutput, type PaymentProblem, type PaymentUnusable } from './call-output.js';
import { CallRecords } from './call-records.js';
import { assertSold, CallTargets, soldListingOf, type CallInput } from './call-target.js';
import { CoordinatePaidCall } from './coordinate-paid-call.js';
import { countStep } from './metrics.js';
import { leaseMsFor } from './paid-call.js';
import { PaymentClaims } from './payment-claims.js';
import { digestOfBody, ValidateCall } from './validate-call.js';

type Input = InputOf<typeof executeKeylessCall>;
type Output = OutputOf<typeof executeKeylessCall>;

/**
 * The paid call without an API key. Without a signature the result is an offer, which is not stored. With one, the
 * offer becomes a payment of the wallet that signed it, and the call continues as if the account of that wallet had
 * sent it with a key.
 */
@Injectable()
export class ExecuteKeylessCall {
  constructor(
    private readonly bus: MessageBus,
    private readonly offerings: Offerings,
    private readonly inputSchemas: InputSchemas,
    private readonly endpoints: CallableEndpoints,
    private readonly records: CallRecords,
    private readonly targets: CallTargets,
    private readonly validateCall: ValidateCall,
    private readonly paidCall: CoordinatePaidCall,
    private readonly claims: PaymentClaims,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  async execute({ listingRef, body, authorization }: Input, context: RequestContext): Promise<Output> {
    const offering = await this.offerings.find(listingRef, context);
    if (!offering) throw refuse(executeKeylessCall, 'listing_not_found', {});
    // An empty body asks only for the price.
    const unfit = body === '' ? undefined : this.inputSchemas.refusalOf(offering, body, context);
    if (authorization === undefined) {
      if (unfit) throw unfit;
      return this.quote(offering, {}, context);
    }
    const digest = digestOfBody(body);
    const target = await this.endpoints.find(offering.listingId);
    const listing = soldListingOf(offering);
    const opening = {
      gatewayRequestId: newId(),
      listing,
      bodyDigest: digest.toString('hex'),
      leaseMs: leaseMsFor(target, this.config),
      authorization,
      // A call that was paid while the listing had another schema is still delivered.
      mayOpen: unfit === undefined,
    };
    return this.claims.opening(opening, context, async (opened) => {
      if (opened.outcome === 'not_opened') throw unfit!;
      if (opened.outcome === 'rejected')
        return this.quote(offering, { rejection: { reason: opened.reason, at: 'verification' } }, context);
      const { buyerId, gatewayRequestId, offer, money } = opened;
      await this.records.recordQuote({ id: gatewayRequestId, buyerId, listing, bodyDigest: digest, offer, money });
      const input = { listingRef: offering.listingId, body, relayRequestId: offer.relay_request_id, authorization };
      const output = await this.executePaid(input, asBuyer(buyerId, context));
      if (output.outcome === 'payment_unusable') return this.quote(offering, output.problem, context);
      return output.outcome === 'payment_required' ? this.quote(offering, output, context) : output;
    });
  }

  private async executePaid(
    input: CallInput & { relayRequestId: string },
    context: RequestContext,
  ): Promise<CallOutput | PaymentUnusable> {
    const call = await this.validateCall.execute(input, context);
    if (call.storedAnswer !== null) return answered(call.storedAnswer, true);
    return this.paidCall.execute({ ...call, relayRequestId: call.relayRequestId ?? input.relayRequestId }, context);
  }

  /** Checks everything that could make a payment useless, before it asks for one. */
  private async quote(
    offering: CallableOffering,
    { reason, rejection }: PaymentProblem,
    context: RequestContext,
  ): Promise<Output> {
    assertSold(offering);
    const { priceMicros, name, slug, inputSchema, exampleInput } = offering;
    if (BigInt(priceMicros) === 0n) throw refuse(executeKeylessCall, 'listing_is_free', {});
    await this.targets.endpointOf(offering);
    const listing = soldListingOf(offering);
    const { offers, signatures } = await this.bus.request(quoteKeyless, { listing, priceMicros }, context);
    if (offers.length === 0) throw refuse(executeKeylessCall, 'keyless_payment_unavailable', {});
    countStep('quoted');
    return {
      outcome: 'payment_required',
      listing: { name, slug, inputSchema, exampleInput },
      offers,
      signatures,
      reason,
      rejection,
    };
  }
}

/** The context of the account whose wallet signed. There is no API key, so `keyId` is the account's id. */
const asBuyer = (accountId: string, context: RequestContext): RequestContext => ({
  ...context,
  principal: {
    accountId,
    accountType: 'agent',
    role: 'both',
    displayName: '',
    keyId: accountId,
    scopes: ['subscribe'],
  },
});
