import type { HTTPFacilitatorClient } from '@x402/core/http';
import type { Hash } from 'viem';
import type { Authorization, ExactPayload, ExactRequirements } from './exact-payment.js';

export type Verification = { valid: true } | { valid: false; reason: string };
export type Settlement = { settled: true; transactionHash: Hash } | { settled: false; reason: string };

/** An authorization that a payment holds. */
export interface HeldAuthorization extends Authorization {
  heldAt: Date;
}

/**
 * Who moves the money of a signed authorization. Both may be repeated with the same payload: it moves once. What is not
 * certain throws, and is asked again with the same payload; not knowing is never "not paid".
 */
export abstract class Facilitator {
  abstract verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification>;
  abstract settle(payload: ExactPayload, requirements: ExactRequirements): Promise<Settlement>;
}

export const onTheWire = (
  { text }: ExactPayload,
  requirements: ExactRequirements,
): Parameters<HTTPFacilitatorClient['verify']> =>
  [JSON.parse(text), requirements] as Parameters<HTTPFacilitatorClient['verify']>;

/** What an answer to `/settle` says. @throws Error where it is not certain. */
export function settlementFrom({
  success,
  transaction,
  errorReason,
}: {
  success: boolean;
  transaction?: string;
  errorReason?: string;
}): Settlement {
  if (!success) return refusedOrThrow(errorReason);
  if (!/^0x[0-9a-fA-F]{64}$/.test(transaction ?? ''))
    throw new Error('the facilitator names no transaction of its settlement');
  return { settled: true, transactionHash: transaction as Hash };
}

/**
 * What a refusal to settle proves. Terms and funds are judged before anything is sent, so money cannot have moved; any other
 * reason may hide a transaction that is under way, and a used nonce may be our own earlier attempt.
 */
export function refusedOrThrow(reason: string | undefined): Settlement {
  if (
    reason &&
    /^(invalid_|insufficient_|unsupported_)/.test(reason) &&
    !/nonce|transaction_(state|failed)|transfer_event|pending/.test(reason)
  )
    return { settled: false, reason };
  throw new Error(`the facilitator is not certain: ${reason ?? 'no reason given'}`);
}
