import { principalOf, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { answered, pending, type CallOutput } from './call-output.js';
import { ActiveCalls } from './active-calls.js';
import { assertFits, assertSold, CallTargets, type CallInput } from './call-target.js';
import { CoordinatePaidCall } from './coordinate-paid-call.js';
import { InputSchemas } from '../offerings/input-schemas.js';
import { FreeCall } from './free-call.js';
import { QuoteCall } from './quote-call.js';
import { isPaid, ValidateCall } from './validate-call.js';

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
  ) {}

  async execute(input: CallInput, context: RequestContext): Promise<CallOutput> {
    const call = await this.validateCall.execute(input, context);
    if (call.storedAnswer !== null) return answered(call.storedAnswer, true);
    const paid = isPaid(call) ? await this.paidCall.execute(call, context) : null;
    if (paid && paid.outcome !== 'payment_unusable') return paid;

    const { offering, outage } = call;
    if (outage) throw outage;
    assertSold(offering, principalOf(context).accountId);
    const target = await this.targets.endpointOf(offering);
    assertFits(target, input.body);
    const unfit = await this.inputSchemas.refusalOf(offering, input.body, context);
    if (unfit) throw unfit;
    if (paid || BigInt(offering.priceMicros) > 0n) {
      const problem = paid?.problem ?? {};
      const quoted = await this.activeCalls.during(() => this.quoteCall.execute(call, offering, problem, context));
      if (quoted?.outcome === 'open') {
        const again = { ...call, input: { ...input, authorization: undefined }, relayRequestId: quoted.relayRequestId };
        const output = await this.paidCall.execute(again, context);
        return output.outcome === 'payment_unusable' ? this.execute(input, context) : output;
      }
      if (quoted) return quoted;
      // The call of the Idempotency-Key has a result now, so the request is executed again to return it.
      return call.isReplay ? pending(undefined, 1, 'call_in_progress') : this.execute(input, context);
    }

    const end = await this.activeCalls.during(() => this.freeCall.execute(call, offering, target, context));
    return end.outcome === 'answered' ? answered(end.answer, false) : pending(undefined, 1, 'call_in_progress');
  }
}
