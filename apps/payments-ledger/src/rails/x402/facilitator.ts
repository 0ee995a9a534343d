import { TRANSACTION_ID_PATTERN } from '@market/contracts';
import type { HTTPFacilitatorClient } from '@x402/core/http';
import type { Address, Hex } from 'viem';
import type { Authorization, ExactPayload, ExactRequirements } from './exact-payment.js';

export type Verification = { valid: true } | { valid: false; reason: string };
/** An account that pays for settlements on a network. */
export interface Reserve {
  network: string;
  account: string;
  /** The number of settlements that its balance pays for at the current price. */
  settlements: number;
}

/** The transaction is null if the authorization was used, and it is not known by which one. */
export type Settlement = { settled: true; transactionHash: string | null } | { settled: false; reason: string };

/** A facilitator's answer after which money may have moved or may still move. */
export class UncertainSettlementError extends Error {
  constructor(readonly reason: string) {
    super(`the facilitator is not certain: ${reason}`);
  }
}

/**
 * A facilitator did not take a signature. `unreachable`: nothing was sent to it. `declined`: it says that it did not look
 * at the signature, as where it refuses our key.
 */
export class NotTakenError extends Error {
  constructor(
    readonly because: 'unreachable' | 'declined',
    cause: Error,
  ) {
    super(cause.message, { cause });
  }
}

/** Whether a facilitator says that an authorization was used on its chain. */
export const isNonceUsed = (reason: string): boolean => /nonce.*used|used.*nonce|^permit2_invalid_nonce$/i.test(reason);

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
  /** Whether a server is configured. Without one nobody but the facilitator knows what became of an authorization. */
  isWatched(requirements: ExactRequirements): boolean;
  /**
   * Whether a wallet with code has signed a hash, according to the first server. @throws Error if there is no server or
   * it gives no answer.
   */
  isSignedBy?(address: Address, hash: Hex, signature: string, requirements: ExactRequirements): Promise<boolean>;
  /** The payer's balance of the asset in base units. @throws Error if there is no server or it gives no answer. */
  balanceOf(payer: string, requirements: ExactRequirements): Promise<bigint>;
}

/**
 * Moves the money of a signed authorization. Both methods may be repeated with the same payload; the money moves once.
 * If the outcome is not certain, they throw, and the caller repeats the request with the same payload. An unknown
 * outcome is never reported as "not paid". `feeMicros` is the fee of the sale, which bounds what the payer may make the
 * settlement cost this process.
 */
export abstract class Facilitator {
  /**
   * Tells facilitators apart in the books, and is no secret: the host of a remote one, the account of one in this
   * process.
   */
  abstract readonly id: string;
  abstract verify(payload: ExactPayload, requirements: ExactRequirements, feeMicros?: bigint): Promise<Verification>;
  abstract settle(payload: ExactPayload, requirements: ExactRequirements, feeMicros?: bigint): Promise<Settlement>;

  /**
   * Reads again what this facilitator can settle. @returns what the operator's own accounts can still pay for, one for
   * each network; none if another party settles. @throws Error if a chain gives no answer.
   */
  readReserves(): Promise<Reserve[]> {
    return Promise.resolve([]);
  }

  /** Why nothing can be settled on a network now, as far as is known; undefined if nothing stands against it. */
  problemOn(_network: string): string | undefined {
    return undefined;
  }

  /** The account that pays the fees of transactions on a Solana network; null while it is not known. */
  feePayerOf(_network: string): string | null {
    return null;
  }

  /** The account by which it settles `upto` payments on a network; null if it settles none, or has not said so. */
  uptoAddressOf(_network: string): string | null {
    return null;
  }

  /** Whether this account settles, or has settled, `upto` payments of a network. */
  settlesUptoAs(account: string, network: string): boolean {
    return this.uptoAddressOf(network)?.toLowerCase() === account.toLowerCase();
  }

  /** Whether it did not answer when it was last asked what it supports. */
  get isSilent(): boolean {
    return false;
  }

  /** Whether this account pays, or has paid, the fees of its transactions on a Solana network. */
  paysFeesAs(account: string, network: string): boolean {
    return this.feePayerOf(network) === account;
  }
}

export const onTheWire = (
  { text }: ExactPayload,
  requirements: ExactRequirements,
): Parameters<HTTPFacilitatorClient['verify']> =>
  [JSON.parse(text), requirements] as Parameters<HTTPFacilitatorClient['verify']>;

/** Whether a facilitator finds this before it sends a transaction, and not because one was sent before. */
export const isBeforeSending = (reason: string): boolean =>
  /^(invalid_|insufficient_|unsupported_|permit2_|upto_|eip6492_factory_not_allowed$)/.test(reason) &&
  !/nonce|transaction_(state|failed)|transfer_event|pending/.test(reason);

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
  if (!success && transaction) throw new UncertainSettlementError(errorReason || 'a failure with a transaction');
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
  if (reason && isBeforeSending(reason)) return { settled: false, reason };
  throw new UncertainSettlementError(reason || 'no reason given');
}
