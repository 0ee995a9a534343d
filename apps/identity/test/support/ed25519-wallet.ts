import { generateKeyPairSync, sign } from 'node:crypto';

export interface Ed25519Wallet {
  /** 32 bytes. */
  publicKey: Uint8Array;
  /** 64 bytes. */
  sign(message: Uint8Array): Uint8Array;
}

/** Creates a wallet with OpenSSL, because tweetnacl takes about 30 ms per signature in a test sandbox. */
export function newEd25519Wallet(): Ed25519Wallet {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url'),
    sign: (message) => sign(null, message, privateKey),
  };
}
