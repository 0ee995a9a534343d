import { HTTPFacilitatorClient } from '@x402/core/http';
import { SettleError, VerifyError } from '@x402/core/types';
import { Logger } from '@nestjs/common';
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
  /** Sent as `Authorization: Bearer …` if the facilitator requires one. */
  apiKey?: string;
  timeoutMs: number;
}

/**
 * A facilitator that changes its accounts still settles transactions with an earlier account, so a stale value does no
 * harm.
 */
const SUPPORTED_TTL_MS = 60_000;
const RETRY_SUPPORTED_MS = 1_000;

/** Any facilitator with the protocol's HTTP interface (`/verify`, `/settle`). */
export class HttpFacilitator extends Facilitator {
  private readonly client: HTTPFacilitatorClient;
  private readonly logger = new Logger('HttpFacilitator');
  private readonly feePayers = new Map<string, string>();
  private supportedAskedAt = 0;

  constructor({ url, apiKey, timeoutMs }: HttpFacilitatorSettings) {
    super();
    const headers: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
    this.client = new HTTPFacilitatorClient({
      url,
      timeoutMs,
      createAuthHeaders: () => Promise.resolve({ verify: headers, settle: headers, supported: headers }),
    });
  }

  /**
   * Returns the account of the last answer to `GET /supported`. If that answer is older than a minute, or older than a
   * second while no account is known, the method requests it again in the background.
   */
  override feePayerOf(network: string): string | null {
    const feePayer = this.feePayers.get(network) ?? null;
    if (Date.now() - this.supportedAskedAt > (feePayer === null ? RETRY_SUPPORTED_MS : SUPPORTED_TTL_MS))
      void this.askSupported();
    return feePayer;
  }

  private async askSupported(): Promise<void> {
    this.supportedAskedAt = Date.now();
    try {
      const { kinds } = await this.client.getSupported();
      for (const { scheme, network, extra } of kinds)
        if (scheme === 'exact' && typeof extra?.['feePayer'] === 'string')
          this.feePayers.set(network, extra['feePayer']);
    } catch (error) {
      this.logger.warn(`the facilitator does not say what it supports: ${(error as Error).message}`);
    }
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

  /** A 5xx, a timeout or an invalid answer does not prove that no money moved. */
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
