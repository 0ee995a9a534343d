import { authorizationTypes } from '@x402/evm';
import { recover } from 'tiny-secp256k1';
import { bytesToHex, getAddress, hashTypedData, hexToBytes, isAddressEqual, type Address, type Hex } from 'viem';
import { publicKeyToAddress } from 'viem/accounts';
import type { EvmPayload, ExactRequirements, TermsCheck, Rejected, SignableOffer } from './exact-payment.js';
import type { TokenDomain } from './token-facts.js';

type EvmRejection =
  | 'invalid_exact_evm_signature'
  | 'invalid_exact_evm_payload_recipient_mismatch'
  | 'invalid_exact_evm_payload_authorization_value_mismatch'
  | 'invalid_exact_evm_payload_authorization_valid_after'
  | 'invalid_exact_evm_payload_authorization_valid_before';

/** A signature that ends sooner than this cannot be settled in time. Source: the reference facilitator. */
const MIN_SECONDS_LEFT = 6n;

/**
 * An authorization that is valid for much longer than requested could keep its payment open as long. This margin covers
 * differences of clients' clocks.
 */
const MAX_SECONDS_AFTER_OFFER = 3_600n;

/**
 * The validity that clients are asked for: the time of a slow seller, the settlement after it, and a second attempt.
 */
const AUTHORIZATION_SECONDS = 600;

/**
 * The terms that a client signs by EIP-3009 on an EVM chain. Source: schemes/exact/scheme_exact_evm.md of
 * github.com/coinbase/x402.
 * @param asset the contract of USDC on the route's chain.
 * @param domain what the contract takes signatures for.
 */
export const evmRequirements = (
  { relayRequestId, route: { network }, amountBaseUnits, payTo }: SignableOffer,
  asset: Address,
  domain: TokenDomain,
): ExactRequirements => ({
  scheme: 'exact',
  network,
  amount: amountBaseUnits.toString(),
  asset,
  payTo: getAddress(payTo),
  maxTimeoutSeconds: AUTHORIZATION_SECONDS,
  extra: { ...domain, relayRequestId },
});

const rejected = (reason: EvmRejection): Rejected => ({ valid: false, reason });

/** Accepts only signatures that a token contract accepts too: 65 bytes, v 27 or 28, low s. */
export function signerOfEvm(
  { signature, authorization }: EvmPayload,
  asked: ExactRequirements,
): { valid: true; payer: string } | Rejected {
  const signer = recoverSigner(signature as Hex, authorization, asked);
  if (!signer || !isAddressEqual(signer, authorization.from as Address)) return rejected('invalid_exact_evm_signature');
  if (!isAddressEqual(authorization.to as Address, asked.payTo as Address))
    return rejected('invalid_exact_evm_payload_recipient_mismatch');
  return { valid: true, payer: signer };
}

export function checkEvmTerms(
  { authorization: { value, validAfter, validBefore, nonce } }: EvmPayload,
  payer: string,
  { amount, maxTimeoutSeconds }: ExactRequirements,
  nowSeconds: bigint,
  secondsNeeded: bigint,
): TermsCheck {
  if (value !== BigInt(amount)) return rejected('invalid_exact_evm_payload_authorization_value_mismatch');
  if (validAfter >= nowSeconds) return rejected('invalid_exact_evm_payload_authorization_valid_after');
  if (validBefore < nowSeconds + (secondsNeeded > MIN_SECONDS_LEFT ? secondsNeeded : MIN_SECONDS_LEFT))
    return rejected('invalid_exact_evm_payload_authorization_valid_before');
  if (validBefore > nowSeconds + BigInt(maxTimeoutSeconds) + MAX_SECONDS_AFTER_OFFER)
    return rejected('invalid_exact_evm_payload_authorization_valid_before');
  return { valid: true, authorization: { payer, nonce: nonce.toLowerCase(), validBefore } };
}

/** By libsecp256k1, because viem takes seven times as long to recover a public key. */
function recoverSigner(
  signature: Hex,
  { from, to, nonce, ...numbers }: EvmPayload['authorization'],
  { network, asset, extra }: ExactRequirements,
): Address | null {
  if (!isAcceptedOnChain(signature)) return null;
  try {
    const digest = hashTypedData({
      domain: {
        name: extra.name,
        version: extra.version,
        chainId: Number(network.slice('eip155:'.length)),
        verifyingContract: asset as Address,
      },
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message: { from: from as Address, to: to as Address, nonce: nonce as Hex, ...numbers },
    });
    const bytes = hexToBytes(signature);
    const publicKey = recover(hexToBytes(digest), bytes.subarray(0, 64), bytes[64] === 27 ? 0 : 1);
    return publicKey && publicKeyToAddress(bytesToHex(publicKey));
  } catch {
    // Numbers beyond 256 bits cannot be hashed, and values of r and s beyond the order of the curve are no signature.
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
