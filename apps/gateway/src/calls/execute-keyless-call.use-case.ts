import type { CallableOffering } from '@market/contracts/catalog';
import { executeKeylessCall } from '@market/contracts/gateway';
import { quoteKeyless } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { HandleRequest, MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Locks } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { readBody } from '../canonical/parse-json.js';
import { CallableEndpoints } from '../endpoints/callable-endpoints.js';
import { InputSchemas } from '../offerings/input-schemas.js';
import { Offerings } from '../offerings/offerings.js';
import { assertTaken, asProbed, digestOfBody } from './call-body.js';
import { answered, type CallOutput, type PaymentProblem, type PaymentUnusable } from './call-output.js';
import { CallRecords } from './call-records.js';
import { assertSold, CallTargets, soldListingOf, type CallInput } from './call-target.js';
import { CoordinatePaidCall } from './coordinate-paid-call.js';
import { countStep } from './metrics.js';
import { callMsFor, type Begun } from './attempt.js';
import { Money } from './money.js';
import { heldSecondsOf } from '../endpoints/job-seconds.query.js';
import { settlesOf } from './quote-call.js';
import { ValidateCall } from './validate-call.js';

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
    private readonly locks: Locks,
    private readonly money: Money,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  @HandleRequest(executeKeylessCall)
  async execute({ listingRef, authorization, ...given }: Input, context: RequestContext): Promise<Output> {
    const offering = await this.offerings.find(listingRef, context);
    if (!offering) throw refuse(executeKeylessCall, 'listing_not_found', {});
    const sent = asProbed(offering, given);
    const isEmpty = sent.body === '';
    if (!isEmpty) assertTaken(offering, sent);
    // No offer could be paid for with such a body, whatever the listing's schema is.
    const read: ReturnType<typeof readBody> | object = sent.contentType === undefined ? readBody(sent.body) : {};
    if ('problem' in read && read.problem === 'duplicate_key')
      throw refuse(executeKeylessCall, 'request_body_invalid', read);
    // An empty body asks only for the price.
    const unfit = isEmpty ? undefined : await this.inputSchemas.refusalOf(offering, sent, context);
    if (authorization === undefined) {
      const misfit =
        unfit ?? ('problem' in read && !isEmpty ? refuse(executeKeylessCall, 'request_body_invalid', read) : undefined);
      const price = await this.quote(offering, {}, context);
      return misfit ? { ...price, misfit: { reason: misfit.reason, ...misfit.details } } : price;
    }
    const digest = digestOfBody(sent);
    const target = await this.endpoints.find(offering.listingId);
    const listing = soldListingOf(offering);
    const opening = {
      gatewayRequestId: newId(),
      listing,
      bodyDigest: digest.toString('hex'),
      callMs: callMsFor(target, this.config),
      authorization,
      // A call that was paid while the listing had another schema is still delivered.
      mayOpen: unfit === undefined,
    };
    // The offer is not verified yet, which a name of a lock need not be.
    const relayRequestId = relayRequestIdIn(authorization);
    const lock = relayRequestId === undefined ? null : await this.locks.acquire(relayRequestId);
    let begun: Begun | undefined;
    try {
      const opened = await this.money.openKeyless(opening, context);
      if (opened.outcome === 'not_opened') throw unfit!;
      if (opened.outcome === 'rejected')
        return await this.quote(offering, { rejection: { reason: opened.reason, at: 'verification' } }, context);
      const { buyerId, gatewayRequestId, offer, money, authorized, isJoined } = opened;
      const quote = { id: gatewayRequestId, buyerId, listing, bodyDigest: digest, offer, money };
      await this.records.recordQuote(quote, context);
      const input = {
        listingRef: offering.listingId,
        ...sent,
        relayRequestId: offer.relay_request_id,
        authorization: isJoined ? undefined : authorization,
      };
      begun = lock && authorized ? { lock, authorized } : undefined;
      // The attempt takes the lock itself then.
      if (!begun) lock?.release();
      const output = await this.executePaid(input, asBuyer(buyerId, context), begun);
      if (output.outcome === 'payment_unusable') return await this.quote(offering, output.problem, context);
      return output.outcome === 'payment_required' ? await this.quote(offering, output, context) : output;
    } finally {
      if (!begun?.isTaken) lock?.release();
    }
  }

  private async executePaid(
    input: CallInput & { relayRequestId: string },
    context: RequestContext,
    begun: Begun | undefined,
  ): Promise<CallOutput | PaymentUnusable> {
    const call = await this.validateCall.execute(input, context);
    if (call.storedAnswer !== null) return answered(call.storedAnswer, true);
    const relayRequestId = call.relayRequestId ?? input.relayRequestId;
    const isSame = relayRequestId === input.relayRequestId;
    return this.paidCall.execute({ ...call, relayRequestId }, context, isSame ? begun : undefined);
  }

  /** Checks everything that could make a payment useless, before it asks for one. */
  private async quote(
    offering: CallableOffering,
    { reason, rejection }: PaymentProblem,
    context: RequestContext,
  ): Promise<Extract<Output, { outcome: 'payment_required' }>> {
    assertSold(offering);
    const { priceMicros, name, slug, inputSchema, exampleInput, outputSchema, usage = null } = offering;
    if (BigInt(priceMicros) === 0n) throw refuse(executeKeylessCall, 'listing_is_free', {});
    const { endpoint } = await this.targets.endpointOf(offering);
    const jobSeconds = heldSecondsOf(endpoint, offering);
    const listing = soldListingOf(offering);
    const asked = { listing, priceMicros, usage: usage ?? undefined, jobSeconds };
    const { offers, signatures } = await this.bus.request(quoteKeyless, asked, context);
    if (offers.length === 0) throw refuse(executeKeylessCall, 'keyless_payment_unavailable', {});
    countStep('quoted');
    return {
      outcome: 'payment_required',
      listing: { name, slug, inputSchema, exampleInput, outputSchema },
      offers: offers.map((offer) => ({ ...offer, settles: settlesOf([offer.x402], jobSeconds, offering) })),
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

/** The relay request id in a `PAYMENT-SIGNATURE`, as the client returned it. */
function relayRequestIdIn(authorization: string): string | undefined {
  try {
    const { accepted } = JSON.parse(authorization) as { accepted?: { extra?: { relayRequestId?: unknown } } };
    const id = accepted?.extra?.relayRequestId;
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
