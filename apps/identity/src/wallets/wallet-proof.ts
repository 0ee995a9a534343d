import bs58 from 'bs58';
import { verifyEd25519 } from './ed25519-strict.js';
import { verifyPersonalSign } from './evm-signature.js';
import type { WalletAddress } from './wallet-address.js';

/** The two encodings of 64-byte signatures by Solana wallets; the padding distinguishes them. */
const BASE64 = /^[0-9A-Za-z+/]{86}==$/;
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/**
 * Whether the wallet signed exactly this text. EVM: `0x` and 130 hex digits of EIP-191 `personal_sign`. Solana: ed25519
 * over the UTF-8 bytes, as base58 or padded base64. Malformed signatures return `false`. It never throws.
 */
export async function verifyWalletProof(wallet: WalletAddress, message: string, signature: string): Promise<boolean> {
  if (wallet.chainType === 'evm') return verifyPersonalSign(wallet.address, message, signature);
  const bytes = decodeSolanaSignature(signature);
  return bytes !== null && verifyEd25519(bs58.decode(wallet.address), Buffer.from(message, 'utf8'), bytes);
}

function decodeSolanaSignature(text: string): Uint8Array | null {
  if (BASE58.test(text)) return bs58.decodeUnsafe(text) ?? null;
  if (!BASE64.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}
