import type { CallableOffering } from '@market/contracts/catalog';
import { executeCall } from '@market/contracts/gateway';
import { newId, usdNumber } from '@market/kernel';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { callMsFor } from './attempt.js';
import { assertFits, assertTaken } from './call-body.js';
import { answered, pending, streaming, working, type CallOutput } from './call-output.js';
import { ActiveCalls } from './active-calls.js';
import { assertSold, CallTargets, soldListingOf, type CallInput } from './call-target.js';
import { CoordinatePaidCall } from './coordinate-paid-call.js';
import { Contents, mayAnswerWithContent } from '../contents/contents.js';
import { InputSchemas } from '../offerings/input-schemas.js';
import { FreeCall } from './free-call.js';
import { Money } from './money.js';
import { QuoteCall, type IncludedCalls } from './quote-call.js';
import { isPaid, ValidateCall, type ValidatedCall } from './validate-call.js';

const IN_USE_RETRY_SECONDS = 2;

/**
 * Executes a call through the gateway. A result that was charged is returned from the store, however often it is
 * requested. For a request with a payment, the gateway locks the call, has the payment authorized, calls the seller,
 * stores the answer, has it charged, and returns it. For a request without one, it checks everything that could make a
 * payment useless, and then offers a payment, or makes the call if it costs nothing.
 */
@Injectable()
export class ExecuteCall {
  constructor(
    private readonly validateCall: ValidateCall,
    private readonly paidCall: CoordinatePaidCall,
    private readonly targets: CallTargets,
    private readonly inputSchemas: InputSchemas,
    private readonly activeCalls: ActiveCalls,
    private readonly quoteCall: QuoteCall,
    private readonly freeCall: FreeCall,
    private readonly contents: Contents,
    private readonly money: Money,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  @HandleRequest(executeCall)
  async execute(input: CallInput, context: RequestContext): Promise<CallOutput> {
    const call = await this.validateCall.execute(input, context);
    if (call.storedAnswer !== null) return answered(call.storedAnswer, true);
    const paid = isPaid(call) ? await this.paidCall.execute(call, context) : null;
    if (paid && paid.outcome !== 'payment_unusable') return paid;

    const { offering, outage } = call;
    if (outage) throw outage;
    assertSold(offering, principalOf(context).accountId);
    const target = await this.targets.endpointOf(offering);
    assertTaken(offering, input);
    assertFits(target, input);
    const unfit = await this.inputSchemas.refusalOf(offering, input, context);
    if (unfit) throw unfit;
    if (mayAnswerWithContent(offering.formats))
      await this.contents.assertRoom({ buyerId: principalOf(context).accountId, sellerId: offering.sellerId });
    if (paid || BigInt(offering.priceMicros) > 0n) {
      const problem = paid?.problem ?? {};
      const included = await this.takeIncluded(call, offering, target, context);
      if (typeof included === 'string') return this.executePaid(call, included, context);
      const quoted = await this.activeCalls.during(() =>
        this.quoteCall.execute(call, offering, target, problem, included, context),
      );
      if (quoted?.outcome === 'open') return this.executePaid(call, quoted.relayRequestId, context);
      if (quoted) return quoted;
      // The call of the Idempotency-Key has a result now, so the request is executed again to return it.
      return call.isReplay ? pending(undefined, 1, 'call_in_progress') : this.execute(input, context);
    }

    const end = await this.activeCalls.during(() => this.freeCall.execute(call, offering, target, context));
    if (end.outcome === 'streaming') return streaming(end);
    if (end.outcome === 'working') return working(end);
    return end.outcome === 'answered' ? answered(end, false) : pending(undefined, 1, 'call_in_progress');
  }

  /** Executes a call that is paid already, by another payment than the request names. */
  private async executePaid(call: ValidatedCall, relayRequestId: string, context: RequestContext): Promise<CallOutput> {
    const input = { ...call.input, authorization: undefined };
    const output = await this.paidCall.execute({ ...call, input, relayRequestId }, context);
    return output.outcome === 'payment_unusable' ? this.execute(call.input, context) : output;
  }

  /**
   * @returns the relay request id of a call that is included, or what is left if none is; undefined if the listing
   * includes none. @throws Refusal if the listing sells no single calls.
   */
  private async takeIncluded(
    { digest }: ValidatedCall,
    offering: CallableOffering,
    target: CallableEndpoint,
    context: RequestContext,
  ): Promise<string | IncludedCalls | undefined> {
    const { includedUnits: units = null, freeCalls, pricingModel, priceMicros } = offering;
    const includedCalls = units ? Math.ceil(units.units / units.per_call) : (offering.includedCalls ?? null);
    if (includedCalls === null && !freeCalls) return undefined;
    const asked = {
      gatewayRequestId: newId(),
      listing: soldListingOf(offering),
      pricingModel,
      priceMicros,
      includedCalls,
      freeCalls: freeCalls ?? 0,
      bodyDigest: digest.toString('hex'),
      callMs: callMsFor(target, this.config),
    };
    const taken = await this.money.takeIncluded(asked, context);
    if (taken.outcome === 'taken') return taken.relayRequestId;
    const { included } = taken;
    if (includedCalls === null) return included;
    const details = {
      listing_id: offering.listingId,
      price_usd: usdNumber(BigInt(priceMicros)),
      included_calls: offering.includedCalls ?? null,
      included_units: units,
      included,
    };
    // No other period is sold as long as calls of this one can be given back.
    if (taken.mayBeGivenBack)
      throw refuse(executeCall, 'quota_in_use', { ...details, retry_after_seconds: IN_USE_RETRY_SECONDS });
    throw refuse(executeCall, (included.period ?? included.units) ? 'quota_used_up' : 'subscription_required', details);
  }
}
