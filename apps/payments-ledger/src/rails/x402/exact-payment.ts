import { relayRequestId } from '@market/contracts';
import { z } from 'zod';

/**
 * What a stock x402 client is asked to sign: `PaymentRequirements` of x402 version 2, scheme `exact`. Clients hand all of `extra`
 * back unchanged. Source: x402-specification-v2.md and schemes/exact of github.com/coinbase/x402.
 */
export interface ExactRequirements {
  scheme: 'exact';
  /** CAIP-2. */
  network: string;
  /** Base units as decimal text. */
  amount: string;
  /** The contract (EVM) or the mint (Solana) that is USDC on the network. */
  asset: string;
  payTo: string;
  /** How long the signature must stay good: as long as the seller may take, and the settlement after it. */
  maxTimeoutSeconds: number;
  extra: {
    /** EVM: the token's EIP-712 domain. */
    name?: string;
    version?: string;
    /** Solana: the account of the facilitator that pays the transaction's fee. */
    feePayer?: string;
    /** Solana: the memo of the transaction, which names the offer on the chain. */
    memo?: string;
    relayRequestId: string;
    /** Of a keyless offer: its sealed terms. */
    offer?: string;
  };
}

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const uint256 = z
  .string()
  .regex(/^(0|[1-9]\d{0,77})$/)
  .transform(BigInt);

/** EIP-3009: a signed `TransferWithAuthorization`. */
const evmPayload = z.looseObject({
  signature: z.string().regex(/^0x[0-9a-fA-F]+$/),
  authorization: z.object({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
  }),
});

/** A transaction of Solana that its payer has signed and its fee payer has not, in base64. */
const solanaPayload = z.looseObject({ transaction: z.base64().max(4_096) });

const payloadSchema = z.looseObject({
  x402Version: z.literal(2),
  accepted: z.looseObject({
    scheme: z.string(),
    network: z.string(),
    extra: z.looseObject({ relayRequestId, offer: z.string().optional(), feePayer: z.string().optional() }),
  }),
  payload: z.union([evmPayload, solanaPayload]),
});

export type EvmPayload = z.output<typeof evmPayload>;
export type SolanaPayload = z.output<typeof solanaPayload>;

/**
 * A decoded `PAYMENT-SIGNATURE`. What else it carries is not read here; a facilitator is given all of it, made from `text`
 * each time, so that what it settles is what it verified.
 */
export type ExactPayload = z.output<typeof payloadSchema> & { text: string };

/** Undefined where the text is no payload of x402. */
export function parsePayload(text: string): ExactPayload | undefined {
  try {
    return { ...payloadSchema.parse(JSON.parse(text)), text };
  } catch {
    return undefined;
  }
}

/** Who pays, and what names this authorization on its chain: no two of one payer share a nonce. */
export interface Authorization {
  payer: string;
  /** EVM: the nonce of EIP-3009. Solana: the hash of the signed message. */
  nonce: string;
  /** In seconds since 1970. On Solana an estimate: a transaction ends with its blockhash, which is counted in blocks. */
  validBefore: bigint;
}

/** With the protocol's word for the reason, where it has one. */
export type Rejected = { valid: false; reason: string };
export type Judgement = { valid: true; authorization: Authorization } | Rejected;

/** What must be known of an offer to ask for a signature. */
export interface SignableOffer {
  relayRequestId: string;
  route: { network: string };
  amountBaseUnits: bigint;
  payTo: string;
}

export const isSolana = (network: string): boolean => network.startsWith('solana:');
