import type { RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { SellerOutcome } from '../egress/seller-outcome.js';
import { SignedRequests } from '../egress/signed-requests.js';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { CallRecords } from './call-records.js';

/** What a seller does not see is left of the caller's time for writing down what it said. */
export const SETTLE_BUDGET_MS = 10_000;
const SHOW_FORWARDING_AFTER_MS = 1_000;

export interface SellerCallRequest {
  requestId: string;
  buyerId: string;
  attempt: number;
  fence: number;
  transactionHash: string | null;
  body: string;
}

/** One signed call of one seller. A call that takes long shows as `forwarding` in the history. */
@Injectable()
export class SellerCall {
  constructor(
    private readonly sellers: SignedRequests,
    private readonly records: CallRecords,
  ) {}

  async execute(target: CallableEndpoint, request: SellerCallRequest, context: RequestContext): Promise<SellerOutcome> {
    let shown: Promise<void> | undefined;
    const show = setTimeout(() => {
      shown = this.records
        .markForwarding(request.requestId, request.fence, request.transactionHash)
        .catch(() => undefined);
    }, SHOW_FORWARDING_AFTER_MS);
    try {
      const { requestId, buyerId, attempt, body } = request;
      return await this.sellers.send(
        target,
        {
          requestId,
          event: 'gateway.call',
          buyerId,
          attempt,
          rawBody: body,
          timeoutMs: this.timeoutOf(target.endpoint.timeoutMs, context),
        },
        context,
      );
    } finally {
      clearTimeout(show);
      // Or it would say "forwarding" after what comes next has said how it ended.
      await shown;
    }
  }

  private timeoutOf(timeoutMs: number, context: RequestContext): number {
    return Math.max(1, Math.min(timeoutMs, context.deadlineAt - Date.now() - SETTLE_BUDGET_MS));
  }
}
