import { ed25519 } from '@noble/curves/ed25519';
import { secp256k1 } from '@noble/curves/secp256k1';
import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils';
import { base58 } from '@scure/base';
import { typedDataHash, type Hex, type TypedData } from './eip712.js';

export type ChainType = 'evm' | 'solana';

/**
 * Proves the identity of an agent. The key stays in a closure, so that logging or serialising a wallet reveals no
 * secret.
 */
export interface Wallet {
  readonly address: string;
  readonly chainType: ChainType;
  /** Signs the UTF-8 text exactly as given: EIP-191 in hex for EVM, ed25519 in base58 for Solana. */
  sign(message: string): Promise<string>;
  /** Returns the private key (hex for EVM, base58 of 64 bytes for Solana), to store a generated wallet. */
  exportKey(): string;
}

/** A wallet that also signs payments, for `x402Payer`. */
export interface EvmWallet extends Wallet {
  readonly address: Hex;
  signTypedData(typedData: TypedData): Promise<Hex>;
  exportKey(): Hex;
}

/** Makes the wallet of an EVM account, a random one when no key is given. */
export function evmWallet(privateKey: Hex = `0x${bytesToHex(secp256k1.utils.randomPrivateKey())}`): EvmWallet {
  const key = hexToBytes(privateKey.slice(2));
  const signHash = (hash: Uint8Array): Hex => {
    const signature = secp256k1.sign(hash, key);
    return `0x${signature.toCompactHex()}${(27 + signature.recovery).toString(16)}`;
  };
  return {
    address: checksummed(bytesToHex(keccak_256(secp256k1.getPublicKey(key, false).subarray(1)).subarray(12))),
    chainType: 'evm',
    async sign(message) {
      const text = utf8ToBytes(message);
      return signHash(keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${text.length}`), text)));
    },
    signTypedData: async (typedData) => signHash(typedDataHash(typedData)),
    exportKey: () => privateKey,
  };
}

/**
 * Makes the wallet of a Solana account from a 64-byte secret key or a 32-byte seed (bytes or base58). Random by
 * default.
 */
export function solanaWallet(secretKey: Uint8Array | string = ed25519.utils.randomPrivateKey()): Wallet {
  const bytes = typeof secretKey === 'string' ? base58.decode(secretKey) : secretKey;
  if (bytes.length !== 32 && bytes.length !== 64)
    throw new RangeError('A Solana secret key has 64 bytes, or 32 when it is a seed.');
  const seed = bytes.slice(0, 32);
  const publicKey = ed25519.getPublicKey(seed);
  return {
    address: base58.encode(publicKey),
    chainType: 'solana',
    sign: async (message) => base58.encode(ed25519.sign(utf8ToBytes(message), seed)),
    exportKey: () => base58.encode(concatBytes(seed, publicKey)),
  };
}

/** Makes a wallet from a private key: hex of an EVM account, base58 or a JSON array of a Solana account. */
export function walletFromKey(privateKey: string): Wallet {
  const key = privateKey.trim();
  if (/^(0x)?[0-9a-f]{64}$/i.test(key)) return evmWallet(`0x${key.replace(/^0x/, '')}`);
  return solanaWallet(key.startsWith('[') ? Uint8Array.from(JSON.parse(key) as number[]) : key);
}

/** Writes an address with its checksum, which is the case of its letters. Source: eips.ethereum.org/EIPS/eip-55. */
function checksummed(address: string): Hex {
  const digest = bytesToHex(keccak_256(utf8ToBytes(address)));
  return `0x${address.replace(/[a-f]/g, (letter, at: number) => (digest[at]! >= '8' ? letter.toUpperCase() : letter))}`;
}
