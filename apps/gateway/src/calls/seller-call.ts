import type { Call } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { SellerClient } from '../egress/seller-client.js';
import type { SellerOutcome } from '../egress/seller-outcome.js';
import { signRequest } from '../egress/sign-request.js';
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
    private readonly sellers: SellerClient,
    private readonly records: CallRecords,
  ) {}

  async execute({ endpoint, url, secrets, authHeader }: CallableEndpoint, request: SellerCallRequest, call: Call): Promise<SellerOutcome> {
    const headers = signRequest({
      secrets,
      requestId: request.requestId,
      timestampSeconds: Math.floor(Date.now() / 1000),
      rawBody: request.body,
      event: 'gateway.call',
      listingId: endpoint.listingId,
      buyerId: request.buyerId,
      attempt: request.attempt,
      traceparent: call.traceparent,
      authHeader,
    });
    let shown: Promise<void> | undefined;
    const show = setTimeout(() => {
      shown = this.records.markForwarding(request.requestId, request.fence, request.transactionHash).catch(() => undefined);
    }, SHOW_FORWARDING_AFTER_MS);
    try {
      return await this.sellers.call({ listingId: endpoint.listingId, url, rawBody: request.body, headers, timeoutMs: this.timeoutOf(endpoint.timeoutMs, call), maxResponseBytes: endpoint.maxResponseBytes });
    } finally {
      clearTimeout(show);
      // Or it would say "forwarding" after what comes next has said how it ended.
      await shown;
    }
  }

  private timeoutOf(timeoutMs: number, call: Call): number {
    return Math.max(1, Math.min(timeoutMs, call.deadlineAt - Date.now() - SETTLE_BUDGET_MS));
  }
}
