import { relayRequestId } from '@market/contracts';
import { z } from 'zod';

/**
 * The terms that a stock x402 client is asked to sign: `PaymentRequirements` of x402 version 2, scheme `exact`, or `upto`
 * for a call that costs what it uses: its amount is the most, and what was used is settled. Clients return all of `extra`
 * unchanged. Source: x402-specification-v2.md, schemes/exact and schemes/upto of github.com/coinbase/x402.
 */
export interface ExactRequirements {
  scheme: 'exact' | 'upto';
  /** CAIP-2 id. */
  network: string;
  /** Base units as decimal text. */
  amount: string;
  /** The contract (EVM) or the mint (Solana) of USDC on the network. */
  asset: string;
  payTo: string;
  /** How long the signature must be valid: the longest time of the seller and of the settlement after it. */
  maxTimeoutSeconds: number;
  extra: {
    /** EVM: the token's EIP-712 domain. */
    name?: string;
    version?: string;
    /** Solana: the account of the facilitator that pays the transaction's fee. */
    feePayer?: string;
    /** Solana: the memo of the transaction, which identifies the offer on the chain. */
    memo?: string;
    relayRequestId: string;
    /** EVM: the token is moved through Permit2, because it takes no signatures itself. */
    assetTransferMethod?: 'permit2';
    /** `upto`: the only account that can settle what is signed. */
    facilitatorAddress?: string;
    /** Keyless offers: the offer token. */
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

/** A signed `PermitWitnessTransferFrom` of Permit2, for one of the proxies of x402. */
const permit2Payload = z.looseObject({
  signature: z.string().regex(/^0x[0-9a-fA-F]+$/),
  permit2Authorization: z.object({
    from: address,
    permitted: z.object({ token: address, amount: uint256 }),
    spender: address,
    nonce: uint256,
    deadline: uint256,
    witness: z.object({ to: address, facilitator: address.optional(), validAfter: uint256 }),
  }),
});

/** A Solana transaction in base64 that its payer has signed and its fee payer has not. */
const solanaPayload = z.looseObject({ transaction: z.base64().max(4_096) });

const payloadSchema = z.looseObject({
  x402Version: z.literal(2),
  accepted: z.looseObject({
    scheme: z.string(),
    network: z.string(),
    extra: z.looseObject({
      relayRequestId,
      offer: z.string().optional(),
      feePayer: z.string().optional(),
      facilitatorAddress: address.optional(),
    }),
  }),
  payload: z.union([evmPayload, permit2Payload, solanaPayload]),
});

export type EvmPayload = z.output<typeof evmPayload>;
export type Permit2Payload = z.output<typeof permit2Payload>;
export type SolanaPayload = z.output<typeof solanaPayload>;

/**
 * A decoded `PAYMENT-SIGNATURE`. Other fields are not read here. The facilitator receives all fields, decoded from
 * `text` each time, so that it settles exactly what it verified.
 */
export type ExactPayload = z.output<typeof payloadSchema> & { text: string };

/** Returns undefined if the text is not an x402 payload. */
export function parsePayload(text: string): ExactPayload | undefined {
  try {
    return { ...payloadSchema.parse(JSON.parse(text)), text };
  } catch {
    return undefined;
  }
}

/**
 * The payer, and the nonce that identifies the authorization on its chain. No two authorizations of one payer have the
 * same nonce.
 */
export interface Authorization {
  payer: string;
  /** EVM: the nonce of EIP-3009, or in decimal digits that of Permit2. Solana: the hash of the signed message. */
  nonce: string;
  /**
   * In seconds since 1970. On Solana it is an estimate, because a transaction expires with its blockhash, whose
   * lifetime is counted in blocks.
   */
  validBefore: bigint;
}

/** The reason is the protocol's error code if it defines one. */
export type Rejected = { valid: false; reason: string };
export type TermsCheck = { valid: true; authorization: Authorization } | Rejected;

/** The data of an offer that a request for a signature needs. */
export interface SignableOffer {
  relayRequestId: string;
  route: { network: string };
  amountBaseUnits: bigint;
  payTo: string;
  /** How long the seller may work on the call after its request is answered. */
  jobSeconds?: number | undefined;
}

/** Whether terms are signed for Permit2, which moves any token, and not for the token itself. */
export const isByPermit2 = ({ scheme, extra }: ExactRequirements): boolean =>
  scheme === 'upto' || extra.assetTransferMethod === 'permit2';

export const isSolana = (network: string): boolean => network.startsWith('solana:');
