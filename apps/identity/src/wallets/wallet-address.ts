import bs58 from 'bs58';
import { checksumAddress, type Address } from 'viem';
import { isEd25519PublicKey } from './ed25519-strict.js';

/** A wallet address in the canonical form that is stored, compared and shown. */
export type WalletAddress =
  /** EIP-55 checksummed. */
  | { readonly chainType: 'evm'; readonly address: Address }
  /** Base58 of the 32-byte ed25519 public key. */
  | { readonly chainType: 'solana'; readonly address: string };

export type ChainType = WalletAddress['chainType'];

const EVM = /^0x(?:[0-9a-f]{40}|[0-9A-F]{40})$/;
const EVM_MIXED_CASE = /^0x[0-9a-fA-F]{40}$/;
const SOLANA = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/**
 * Parses an EVM or Solana address in any spelling; returns null if it is invalid.
 * Mixed-case EVM addresses must have a correct EIP-55 checksum. Solana addresses must be keys that can sign, so
 * program-derived (off-curve) and small-order ones are invalid.
 */
export function parseWalletAddress(text: string): WalletAddress | null {
  if (EVM_MIXED_CASE.test(text)) return parseEvm(text);
  return SOLANA.test(text) ? parseSolana(text) : null;
}

/** A shortened address for display. */
export const shortAddress = ({ address }: WalletAddress): string => `${address.slice(0, 6)}…${address.slice(-4)}`;

function parseEvm(text: string): WalletAddress | null {
  const address = checksumAddress(`0x${text.slice(2).toLowerCase()}`);
  return EVM.test(text) || text === address ? { chainType: 'evm', address } : null;
}

function parseSolana(text: string): WalletAddress | null {
  const publicKey = bs58.decodeUnsafe(text);
  if (!publicKey || bs58.encode(publicKey) !== text || !isEd25519PublicKey(publicKey)) return null;
  return { chainType: 'solana', address: text };
}
