import { executeCall, executeKeylessCall } from '@market/contracts/gateway';
import type { InputOf } from '@market/contracts';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { ExecuteCall } from './execute-call.use-case.js';
import { ExecuteKeylessCall } from './execute-keyless-call.use-case.js';

@Controller()
export class CallsMessageController {
  constructor(
    private readonly executeCallUseCase: ExecuteCall,
    private readonly executeKeylessCallUseCase: ExecuteKeylessCall,
  ) {}

  /**
   * Listing and endpoint come from caches at most a second old (one hop, three queries when they are not).
   * Quote: one hop to the ledger, one statement there and one here, a shared commit each.
   * Paid retry: two hops (claim, settle); a shared commit for the claim, the stored result and the settlement.
   * An Idempotency-Key adds one query, and one commit when it is new; a wallet named as the payer one hop to a quote.
   */
  @HandleRequest(executeCall)
  executeCall(input: InputOf<typeof executeCall>, context: RequestContext) {
    return this.executeCallUseCase.execute(input, context);
  }

  /** Quote: one hop to the ledger, and no statement anywhere. Paid: a hop more than with a key, which opens the payment, and a shared commit for its record. */
  @HandleRequest(executeKeylessCall)
  executeKeylessCall(input: InputOf<typeof executeKeylessCall>, context: RequestContext) {
    return this.executeKeylessCallUseCase.execute(input, context);
  }
}
