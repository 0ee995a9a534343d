import { HTTPFacilitatorClient } from '@x402/core/http';
import { SettleError, VerifyError } from '@x402/core/types';
import type { ExactPayload, ExactRequirements } from './exact-payment.js';
import {
  Facilitator,
  onTheWire,
  refusedOrThrow,
  settlementFrom,
  type Settlement,
  type Verification,
} from './facilitator.js';

export interface HttpFacilitatorSettings {
  url: string;
  /** Sent as `Authorization: Bearer …` where the facilitator wants one. */
  apiKey?: string;
  timeoutMs: number;
}

/** Any facilitator that speaks the protocol's HTTP interface (`/verify`, `/settle`). */
export class HttpFacilitator extends Facilitator {
  private readonly client: HTTPFacilitatorClient;

  constructor({ url, apiKey, timeoutMs }: HttpFacilitatorSettings) {
    super();
    const headers: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
    this.client = new HTTPFacilitatorClient({
      url,
      timeoutMs,
      createAuthHeaders: () => Promise.resolve({ verify: headers, settle: headers, supported: headers }),
    });
  }

  async verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification> {
    try {
      const { isValid, invalidReason } = await this.client.verify(...onTheWire(payload, requirements));
      return isValid ? { valid: true } : { valid: false, reason: invalidReason ?? 'invalid_payload' };
    } catch (error) {
      if (error instanceof VerifyError && error.statusCode < 500 && error.invalidReason)
        return { valid: false, reason: error.invalidReason };
      throw error;
    }
  }

  /** A 5xx, a timeout or a broken answer is no proof that nothing happened. */
  async settle(payload: ExactPayload, requirements: ExactRequirements): Promise<Settlement> {
    try {
      return settlementFrom(await this.client.settle(...onTheWire(payload, requirements)));
    } catch (error) {
      if (error instanceof SettleError && error.statusCode < 500 && error.errorReason)
        return refusedOrThrow(error.errorReason);
      throw error;
    }
  }
}
