import { authorizationTypes } from '@x402/evm';
import { recover } from 'tiny-secp256k1';
import { bytesToHex, getAddress, hashTypedData, hexToBytes, isAddressEqual, type Address, type Hex } from 'viem';
import { publicKeyToAddress } from 'viem/accounts';
import type { EvmPayload, ExactRequirements, TermsCheck, Rejected, SignableOffer } from './exact-payment.js';
import type { TokenDomain } from './token-facts.js';

type EvmRejection =
  | 'contract_wallet_unverifiable'
  | 'invalid_exact_evm_payload_recipient_mismatch'
  | 'invalid_exact_evm_payload_authorization_value_mismatch'
  | 'invalid_exact_evm_payload_authorization_valid_after'
  | 'invalid_exact_evm_payload_authorization_valid_before';

/** A signature that ends sooner than this cannot be settled in time. Source: the reference facilitator. */
export const MIN_SECONDS_LEFT = 6n;

/**
 * An authorization that is valid for much longer than requested could keep its payment open as long. This margin covers
 * differences of clients' clocks.
 */
export const MAX_SECONDS_AFTER_OFFER = 3_600n;

/**
 * The validity that clients are asked for: the time of a slow seller, the settlement after it, and a second attempt.
 */
const AUTHORIZATION_SECONDS = 600;
/** Beyond the time of a job: from the signature to the call, and from the delivery to the settlement. */
const SECONDS_BESIDE_JOB = 120;

/**
 * The terms that a client signs on an EVM chain: by EIP-3009, or for Permit2 where the token has none of that.
 * Source: schemes/exact/scheme_exact_evm.md of github.com/coinbase/x402.
 * @param asset the contract of USDC on the route's chain.
 * @param domain what the contract takes signatures for; it may be unknown of one that takes none.
 */
export const evmRequirements = (
  { relayRequestId, route: { network }, amountBaseUnits, payTo, jobSeconds }: SignableOffer,
  asset: Address,
  domain: TokenDomain | undefined,
  byPermit2?: true,
): ExactRequirements => ({
  scheme: 'exact',
  network,
  amount: amountBaseUnits.toString(),
  asset,
  payTo: getAddress(payTo),
  maxTimeoutSeconds: jobSeconds === undefined ? AUTHORIZATION_SECONDS : jobSeconds + SECONDS_BESIDE_JOB,
  extra: { ...domain, ...(byPermit2 && { assetTransferMethod: 'permit2' as const }), relayRequestId },
});

const rejected = (reason: EvmRejection): Rejected => ({ valid: false, reason });

/**
 * Asks a wallet with code whether it has signed a hash (EIP-1271, EIP-6492). @throws Error if its chain gives no answer.
 */
export type AskContract = (address: Address, hash: Hex, signature: string) => Promise<boolean>;

/** Who signed for the token itself (EIP-3009). @param askContract undefined if no server of the chain is known. */
export async function signerOfEvm(
  { signature, authorization }: EvmPayload,
  asked: ExactRequirements,
  askContract: AskContract | undefined,
): Promise<{ valid: true; payer: string } | Rejected> {
  const from = getAddress(authorization.from);
  const isToPayee = isAddressEqual(authorization.to as Address, asked.payTo as Address);
  // No wallet with code is asked on its chain about what pays somebody else.
  const ask = isToPayee ? askContract : (): Promise<boolean> => Promise.resolve(false);
  const signed = await signerOf(from, digestOf(authorization, asked), signature, ask, 'invalid_exact_evm_signature');
  return !signed.valid || isToPayee ? signed : rejected('invalid_exact_evm_payload_recipient_mismatch');
}

/**
 * Who signed. A key signs in 65 bytes, v 27 or 28, low s, as token contracts accept it. Anything else may be the
 * signature of a wallet with code, which its chain knows.
 * @param digest null if there is nothing that could be signed.
 */
export async function signerOf(
  from: Address,
  digest: Hex | null,
  signature: string,
  askContract: AskContract | undefined,
  reason: string,
): Promise<{ valid: true; payer: string } | Rejected> {
  const invalid = { valid: false, reason } as const;
  if (digest === null) return invalid;
  if (recoverSigner(signature as Hex, digest) === from) return { valid: true, payer: from };
  if (!askContract) return isOfLength65(signature) ? invalid : rejected('contract_wallet_unverifiable');
  return (await askContract(from, digest, signature)) ? { valid: true, payer: from } : invalid;
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

/** What is signed by EIP-712. Null if numbers are beyond 256 bits. */
function digestOf(
  { from, to, nonce, ...numbers }: EvmPayload['authorization'],
  { network, asset, extra }: ExactRequirements,
): Hex | null {
  try {
    return hashTypedData({
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
  } catch {
    return null;
  }
}

/** By libsecp256k1, because viem takes seven times as long to recover a public key. */
function recoverSigner(signature: Hex, digest: Hex): Address | null {
  if (!isAcceptedOnChain(signature)) return null;
  try {
    const bytes = hexToBytes(signature);
    const publicKey = recover(hexToBytes(digest), bytes.subarray(0, 64), bytes[64] === 27 ? 0 : 1);
    return publicKey && publicKeyToAddress(bytesToHex(publicKey));
  } catch {
    // Values of r and s beyond the order of the curve are no signature.
    return null;
  }
}

const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

const isOfLength65 = (signature: string): boolean => signature.length === 132;

function isAcceptedOnChain(signature: Hex): boolean {
  if (!isOfLength65(signature)) return false;
  const v = Number.parseInt(signature.slice(130), 16);
  if (v !== 27 && v !== 28) return false;
  return BigInt(`0x${signature.slice(66, 130)}`) <= HALF_ORDER;
}
