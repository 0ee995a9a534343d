import { recoverMessageAddress, type Address, type Hex } from 'viem';

/** The group order of secp256k1 (SEC 2 §2.4.1). */
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** 32 bytes r, 32 bytes s, one byte v: 27 or 28. */
const SIGNATURE = /^0x(?<r>[0-9a-fA-F]{64})(?<s>[0-9a-fA-F]{64})1[bBcC]$/;

/**
 * Whether `address` (EIP-55) signed exactly this text with EIP-191 `personal_sign`. Only one encoding of each signature
 * is accepted: low s (EIP-2) and v of 27 or 28. Malformed input returns `false`. It never throws.
 */
export async function verifyPersonalSign(address: Address, message: string, signature: string): Promise<boolean> {
  if (!isWellFormed(signature)) return false;
  // Recovery fails if r is not the x coordinate of a curve point; the signature is then invalid.
  const signer = await recoverMessageAddress({ message, signature }).catch(() => null);
  return signer === address;
}

function isWellFormed(signature: string): signature is Hex {
  const parts = SIGNATURE.exec(signature)?.groups;
  if (!parts) return false;
  const r = BigInt(`0x${parts.r}`);
  const s = BigInt(`0x${parts.s}`);
  return r > 0n && r < N && s > 0n && s <= N / 2n;
}
