import { randomBytes } from 'node:crypto';

/** A seller's signing secret and its public name. */
export interface SigningSecret {
  keyId: string;
  /** `whsec_` and the base64 of 32 bytes, as Standard Webhooks libraries accept it. */
  secret: string;
}

const prefix = 'whsec_';

export function newSigningSecret(): SigningSecret {
  return { keyId: `key_${randomBytes(9).toString('base64url')}`, secret: prefix + randomBytes(32).toString('base64') };
}

/** Returns the bytes of the key. */
export function signingKey({ secret }: Pick<SigningSecret, 'secret'>): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64');
}
