import { relayRequestId } from '@market/contracts';
import { authorizationTypes } from '@x402/evm';
import { isDeepStrictEqual } from 'node:util';
import { getAddress, isAddressEqual, recoverTypedDataAddress, type Address, type Hex } from 'viem';
import { z } from 'zod';
import { usdcDomain } from './usdc-domain.js';

/**
 * What a stock x402 client is asked to sign: `PaymentRequirements` of x402 version 2, scheme `exact` on an EVM chain by
 * EIP-3009. `extra` names the token's EIP-712 domain and the offer; clients hand all of it back unchanged.
 * Source: x402-specification-v2.md and schemes/exact/scheme_exact_evm.md of github.com/coinbase/x402.
 */
export interface ExactRequirements {
  scheme: 'exact';
  /** CAIP-2. */
  network: string;
  /** Base units as decimal text. */
  amount: string;
  asset: Address;
  payTo: Address;
  /** How long the signature must stay good: as long as the seller may take, and the settlement after it. */
  maxTimeoutSeconds: number;
  extra: {
    name: string;
    version: string;
    relayRequestId: string;
    /** Of a keyless offer: its sealed terms. */
    offer?: string;
  };
}

const address = z.custom<Address>(
  (value) => typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value),
  'must be an address',
);
const hex = (pattern: RegExp) =>
  z.custom<Hex>((value) => typeof value === 'string' && pattern.test(value), 'must be hex');
const uint256 = z
  .string()
  .regex(/^(0|[1-9]\d{0,77})$/)
  .transform(BigInt);

const payloadSchema = z.looseObject({
  x402Version: z.literal(2),
  accepted: z.looseObject({
    scheme: z.string(),
    network: z.string(),
    extra: z.looseObject({ relayRequestId, offer: z.string().optional() }),
  }),
  payload: z.looseObject({
    signature: hex(/^0x[0-9a-fA-F]+$/),
    authorization: z.object({
      from: address,
      to: address,
      value: uint256,
      validAfter: uint256,
      validBefore: uint256,
      nonce: hex(/^0x[0-9a-fA-F]{64}$/),
    }),
  }),
});

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

/** Words of the protocol, where it has one. */
export type RejectionReason =
  | 'unsupported_scheme'
  | 'invalid_network'
  | 'accepted_mismatch'
  | 'invalid_exact_evm_signature'
  | 'invalid_exact_evm_payload_recipient_mismatch'
  | 'invalid_exact_evm_payload_authorization_value_mismatch'
  | 'invalid_exact_evm_payload_authorization_valid_after'
  | 'invalid_exact_evm_payload_authorization_valid_before';

/** Who pays, and what names this authorization on its chain: no two of one payer share a nonce. Nothing else in it tells which offer it pays. */
export interface Authorization {
  payer: Address;
  nonce: Hex;
  validBefore: bigint;
}

export type Judgement = { valid: true; authorization: Authorization } | { valid: false; reason: RejectionReason };

/** A signature that ends sooner than this cannot be settled in time. Source: the reference facilitator. */
const MIN_SECONDS_LEFT = 6n;

/** One that is good for much longer than was asked could keep its payment open for as long; a client's clock may be wrong by so much. */
const MAX_SECONDS_AFTER_OFFER = 3_600n;

/** How long clients are asked to sign for: a slow seller's time, the settlement after it, and room for another try. */
const AUTHORIZATION_SECONDS = 600;

/** What must be known of an offer to ask for a signature. */
export interface SignableOffer {
  relayRequestId: string;
  route: { network: string };
  amountBaseUnits: bigint;
  payTo: string;
}

/** @param asset the contract that is USDC on the route's chain. */
export const requirementsOf = (
  { relayRequestId, route: { network }, amountBaseUnits, payTo }: SignableOffer,
  asset: Address,
): ExactRequirements => ({
  scheme: 'exact',
  network,
  amount: amountBaseUnits.toString(),
  asset,
  payTo: getAddress(payTo),
  maxTimeoutSeconds: AUTHORIZATION_SECONDS,
  extra: { ...usdcDomain(network), relayRequestId },
});

const refused = (reason: RejectionReason): { valid: false; reason: RejectionReason } => ({ valid: false, reason });

/**
 * Who signed for exactly these terms, in the order the protocol names: terms, signature, recipient. Only signatures that a
 * token contract accepts, too: 65 bytes, v 27 or 28, low s.
 */
export async function signedBy(
  { accepted, payload: { signature, authorization } }: ExactPayload,
  asked: ExactRequirements,
): Promise<{ valid: true; payer: Address } | { valid: false; reason: RejectionReason }> {
  if (accepted.scheme !== asked.scheme) return refused('unsupported_scheme');
  if (accepted.network !== asked.network) return refused('invalid_network');
  if (!isDeepStrictEqual({ ...accepted }, { ...asked })) return refused('accepted_mismatch');
  const signer = await signerOf(signature, authorization, asked);
  if (!signer || !isAddressEqual(signer, authorization.from)) return refused('invalid_exact_evm_signature');
  if (!isAddressEqual(authorization.to, asked.payTo)) return refused('invalid_exact_evm_payload_recipient_mismatch');
  return { valid: true, payer: signer };
}

/**
 * Whether what `payer` signed for an offer is its amount, good at this time and for `secondsNeeded` more, in which the seller
 * answers. Balance and a nonce used on the chain are the facilitator's to know.
 */
export function judgeSigned(
  { payload: { authorization } }: ExactPayload,
  payer: Address,
  asked: ExactRequirements,
  nowSeconds: bigint,
  secondsNeeded = MIN_SECONDS_LEFT,
): Judgement {
  if (authorization.value !== BigInt(asked.amount))
    return refused('invalid_exact_evm_payload_authorization_value_mismatch');
  if (authorization.validAfter >= nowSeconds) return refused('invalid_exact_evm_payload_authorization_valid_after');
  if (authorization.validBefore < nowSeconds + (secondsNeeded > MIN_SECONDS_LEFT ? secondsNeeded : MIN_SECONDS_LEFT))
    return refused('invalid_exact_evm_payload_authorization_valid_before');
  if (authorization.validBefore > nowSeconds + BigInt(asked.maxTimeoutSeconds) + MAX_SECONDS_AFTER_OFFER)
    return refused('invalid_exact_evm_payload_authorization_valid_before');
  return {
    valid: true,
    authorization: { payer, nonce: authorization.nonce.toLowerCase() as Hex, validBefore: authorization.validBefore },
  };
}

async function signerOf(
  signature: Hex,
  message: ExactPayload['payload']['authorization'],
  { network, asset, extra }: ExactRequirements,
): Promise<Address | null> {
  if (!isAcceptedOnChain(signature)) return null;
  try {
    return await recoverTypedDataAddress({
      domain: {
        name: extra.name,
        version: extra.version,
        chainId: Number(network.slice('eip155:'.length)),
        verifyingContract: asset,
      },
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message,
      signature,
    });
  } catch {
    // Numbers beyond 256 bits cannot be hashed, and r and s beyond the order of the curve sign nothing.
    return null;
  }
}

const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

function isAcceptedOnChain(signature: Hex): boolean {
  if (signature.length !== 132) return false;
  const v = Number.parseInt(signature.slice(130), 16);
  if (v !== 27 && v !== 28) return false;
  return BigInt(`0x${signature.slice(66, 130)}`) <= HALF_ORDER;
}
