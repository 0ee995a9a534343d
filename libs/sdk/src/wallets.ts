import bs58 from 'bs58';
import nacl from 'tweetnacl';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

export type ChainType = 'evm' | 'solana';

/** What proves an agent's identity. The key stays in the closure: logging or serialising a wallet shows no secret. */
export interface Wallet {
  readonly address: string;
  readonly chainType: ChainType;
  /** Signs the UTF-8 text exactly as given: EIP-191 in hex for EVM, ed25519 in base58 for Solana. */
  sign(message: string): Promise<string>;
  /** The private key (hex for EVM, base58 of 64 bytes for Solana), for keeping a generated wallet. */
  exportKey(): string;
}

/** An EVM account, random when no key is given. */
export function evmWallet(privateKey: `0x${string}` = generatePrivateKey()): Wallet {
  const account = privateKeyToAccount(privateKey);
  return {
    address: account.address,
    chainType: 'evm',
    sign: (message) => account.signMessage({ message }),
    exportKey: () => privateKey,
  };
}

/** A Solana account from a 64-byte secret key or a 32-byte seed (bytes or base58), random when none is given. */
export function solanaWallet(secretKey?: Uint8Array | string): Wallet {
  const pair = secretKey === undefined ? nacl.sign.keyPair() : keyPairFrom(secretKey);
  return {
    address: bs58.encode(pair.publicKey),
    chainType: 'solana',
    sign: async (message) => bs58.encode(nacl.sign.detached(Buffer.from(message, 'utf8'), pair.secretKey)),
    exportKey: () => bs58.encode(pair.secretKey),
  };
}

function keyPairFrom(secretKey: Uint8Array | string): nacl.SignKeyPair {
  const bytes = typeof secretKey === 'string' ? bs58.decode(secretKey) : secretKey;
  if (bytes.length === nacl.sign.seedLength) return nacl.sign.keyPair.fromSeed(bytes);
  if (bytes.length === nacl.sign.secretKeyLength) return nacl.sign.keyPair.fromSecretKey(bytes);
  throw new RangeError('A Solana secret key has 64 bytes, or 32 when it is a seed.');
}
