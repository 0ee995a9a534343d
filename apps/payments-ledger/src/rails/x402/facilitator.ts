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

/** A transaction that no block of its chain has. */
export class TransactionNotFoundError extends Error {
  constructor(transactionHash: string, network: string) {
    super(`${transactionHash} is not on ${network}`);
  }
}

/** What a chain says of signed authorizations. */
export interface SettlementWitness {
  /** The outcome of an authorization; null while it may still be settled. @throws Error when no RPC server is configured, or one does not tell. */
  settlementOf(held: HeldAuthorization, requirements: ExactRequirements): Promise<Settlement | null>;
  /**
   * Whether this transaction settled the authorization, as the first server says. A server that lags behind is asked again until a
   * request's time is over. True without a server, since nobody can say otherwise. @throws TransactionNotFoundError, Error when it does not tell.
   */
  isSettledBy(transactionHash: string, held: HeldAuthorization, requirements: ExactRequirements): Promise<boolean>;
  /** Whether the authorization was used, for whatever, as the first server says; false without one. @throws Error when it does not tell. */
  isUsed(held: HeldAuthorization, requirements: ExactRequirements): Promise<boolean>;
  /** The payer's balance of the asset in base units. @throws Error when there is no server, or it does not tell. */
  balanceOf(payer: string, requirements: ExactRequirements): Promise<bigint>;
}

/**
 * Who moves the money of a signed authorization. Both may be repeated with the same payload: it moves once. What is not
 * certain throws, and is asked again with the same payload; not knowing is never "not paid".
 */
export abstract class Facilitator {
  abstract verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification>;
  abstract settle(payload: ExactPayload, requirements: ExactRequirements): Promise<Settlement>;

  /** The account that pays the fees of transactions on a network of Solana; null while it is not known. */
  feePayerOf(_network: string): string | null {
    return null;
  }
}

export const onTheWire = (
  { text }: ExactPayload,
  requirements: ExactRequirements,
): Parameters<HTTPFacilitatorClient['verify']> =>
  [JSON.parse(text), requirements] as Parameters<HTTPFacilitatorClient['verify']>;

/** A hash of an EVM chain, or the base58 of a signature of Solana. */
export const TRANSACTION_ID = /^(0x[0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{64,88})$/;

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
  if (transaction === undefined || !TRANSACTION_ID.test(transaction))
    throw new Error('the facilitator names no transaction of its settlement');
  return { settled: true, transactionHash: transaction };
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
