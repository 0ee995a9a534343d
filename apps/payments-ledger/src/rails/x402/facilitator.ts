import { TRANSACTION_ID_PATTERN } from '@market/contracts';
import type { HTTPFacilitatorClient } from '@x402/core/http';
import type { Authorization, ExactPayload, ExactRequirements } from './exact-payment.js';

export type Verification = { valid: true } | { valid: false; reason: string };
export type Settlement = { settled: true; transactionHash: string } | { settled: false; reason: string };

/** An authorization that a payment holds. */
export interface HeldAuthorization extends Authorization {
  heldAt: Date;
  /** The payload that was signed, as text. */
  text: string;
}

/** No block of the chain contains the transaction. */
export class TransactionNotFoundError extends Error {
  constructor(transactionHash: string, network: string) {
    super(`${transactionHash} is not on ${network}`);
  }
}

/** Reports the outcome of signed authorizations on a chain. */
export interface SettlementWitness {
  /**
   * The outcome of an authorization; null while it may still be settled. @throws Error if no RPC server is configured
   * or a server gives no answer.
   */
  settlementOf(held: HeldAuthorization, requirements: ExactRequirements): Promise<Settlement | null>;
  /**
   * Whether this transaction settled the authorization, according to the first server. A server that lags behind is
   * asked again until the timeout of a request. Without a server the result is true, because nothing can contradict it.
   * @throws TransactionNotFoundError, Error if the server gives no answer.
   */
  isSettledBy(transactionHash: string, held: HeldAuthorization, requirements: ExactRequirements): Promise<boolean>;
  /**
   * Whether the authorization was used for any purpose, according to the first server; false without a server. @throws
   * Error if the server gives no answer.
   */
  isUsed(held: HeldAuthorization, requirements: ExactRequirements): Promise<boolean>;
  /** The payer's balance of the asset in base units. @throws Error if there is no server or it gives no answer. */
  balanceOf(payer: string, requirements: ExactRequirements): Promise<bigint>;
}

/**
 * Moves the money of a signed authorization. Both methods may be repeated with the same payload; the money moves once.
 * If the outcome is not certain, they throw, and the caller repeats the request with the same payload. An unknown
 * outcome is never reported as "not paid".
 */
export abstract class Facilitator {
  abstract verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification>;
  abstract settle(payload: ExactPayload, requirements: ExactRequirements): Promise<Settlement>;

  /** The account that pays the fees of transactions on a Solana network; null while it is not known. */
  feePayerOf(_network: string): string | null {
    return null;
  }
}

export const onTheWire = (
  { text }: ExactPayload,
  requirements: ExactRequirements,
): Parameters<HTTPFacilitatorClient['verify']> =>
  [JSON.parse(text), requirements] as Parameters<HTTPFacilitatorClient['verify']>;

/** Parses an answer to `/settle`. @throws Error if the outcome is not certain. */
export function settlementFrom({
  success,
  transaction,
  errorReason,
}: {
  success: boolean;
  transaction?: string | null | undefined;
  errorReason?: string | null | undefined;
}): Settlement {
  if (!success) return refusedOrThrow(errorReason);
  if (!transaction || !TRANSACTION_ID_PATTERN.test(transaction))
    throw new Error('the facilitator names no transaction of its settlement');
  return { settled: true, transactionHash: transaction };
}

/**
 * Interprets a refusal to settle. A facilitator checks terms and funds before it sends anything, so after such a reason
 * no money can have moved. After any other reason a transaction may still be in progress, and a used nonce may come
 * from our own earlier attempt.
 */
function refusedOrThrow(reason: string | null | undefined): Settlement {
  if (
    reason &&
    /^(invalid_|insufficient_|unsupported_)/.test(reason) &&
    !/nonce|transaction_(state|failed)|transfer_event|pending/.test(reason)
  )
    return { settled: false, reason };
  throw new Error(`the facilitator is not certain: ${reason ?? 'no reason given'}`);
}
