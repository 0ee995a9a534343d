import type { Offering } from '@market/contracts/catalog';
import { executeKeylessCall } from '@market/contracts/gateway';
import { openKeylessPayment, quoteKeyless } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { CallableEndpoints } from '../endpoints/callable-endpoints.js';
import { takesCalls } from '../endpoints/endpoint.js';
import { Offerings } from '../offerings/offerings.js';
import { CallRecords } from './call-records.js';
import { digestOfBody, ExecuteCall, leaseMsFor, type NotPaid } from './execute-call.use-case.js';

type Input = InputOf<typeof executeKeylessCall>;
type Output = OutputOf<typeof executeKeylessCall>;

/**
 * The paid call of whoever has no key. Unpaid: an offer, and no trace of it. Paid: the offer becomes a payment of the
 * wallet that signed, and from there the call is that wallet's own, as if it had come with a key.
 */
@Injectable()
export class ExecuteKeylessCall {
  constructor(
    private readonly bus: MessageBus,
    private readonly offerings: Offerings,
    private readonly endpoints: CallableEndpoints,
    private readonly records: CallRecords,
    private readonly executeCall: ExecuteCall,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  async execute({ listingRef, body, authorization }: Input, context: RequestContext): Promise<Output> {
    const offering = await this.offerings.find(listingRef, context);
    if (!offering) throw refuse(executeKeylessCall, 'listing_not_found', {});
    if (authorization === undefined) return this.ask(offering, {}, context);
    const digest = digestOfBody(body);
    const target = await this.endpoints.find(offering.listingId);
    const listing = soldOf(offering);
    const opened = await this.bus.request(
      openKeylessPayment,
      {
        gatewayRequestId: newId(),
        listing,
        bodyDigest: digest.toString('hex'),
        leaseMs: leaseMsFor(target, this.config),
        authorization,
      },
      context,
    );
    if (opened.outcome === 'rejected')
      return this.ask(offering, { rejection: { reason: opened.reason, at: 'verification' } }, context);
    const { buyerId, gatewayRequestId, offer, money } = opened;
    await this.records.recordQuote({ id: gatewayRequestId, buyerId, listing, bodyDigest: digest, offer, money });
    // No key of it is at work here: its account stands for one.
    const asBuyer: RequestContext = {
      ...context,
      principal: {
        accountId: buyerId,
        accountType: 'agent',
        role: 'both',
        displayName: '',
        keyId: buyerId,
        scopes: ['subscribe'],
      },
    };
    const output = await this.executeCall.executeOpened(
      { listingRef: offering.listingId, body, relayRequestId: offer.relay_request_id, authorization },
      asBuyer,
    );
    if (output.outcome === 'spent') return this.ask(offering, output.why, context);
    return output.outcome === 'payment_required' ? this.ask(offering, output, context) : output;
  }

  /** Everything that could make a payment useless is refused before one is asked for. */
  private async ask(offering: Offering, { reason, rejection }: NotPaid, context: RequestContext): Promise<Output> {
    if (offering.status !== 'active') throw refuse(executeKeylessCall, 'listing_not_found', {});
    if (offering.pricingModel !== 'per_call') throw refuse(executeKeylessCall, 'listing_not_per_call', {});
    if (BigInt(offering.priceMicros) === 0n) throw refuse(executeKeylessCall, 'listing_is_free', {});
    const target = await this.endpoints.find(offering.listingId);
    if (!target || !takesCalls(target.endpoint))
      throw refuse(executeKeylessCall, 'endpoint_unavailable', {
        endpoint_status: target?.endpoint.status ?? 'removed',
      });
    const { offers, signatures } = await this.bus.request(
      quoteKeyless,
      { listing: soldOf(offering), priceMicros: offering.priceMicros },
      context,
    );
    if (offers.length === 0) throw refuse(executeKeylessCall, 'keyless_payment_unavailable', {});
    return {
      outcome: 'payment_required',
      listing: { name: offering.name, slug: offering.slug },
      offers,
      signatures,
      reason,
      rejection,
    };
  }
}

const soldOf = ({ listingId, name, slug, sellerId, preferredCurrency }: Offering) => ({
  listingId,
  name,
  slug,
  sellerId,
  preferredCurrency,
});
