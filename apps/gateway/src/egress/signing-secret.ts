import { randomBytes } from 'node:crypto';

/** A seller's signing secret and the public name it is known by. */
export interface SigningSecret {
  keyId: string;
  /** `whsec_` and the base64 of 32 bytes, as Standard Webhooks libraries take it. */
  secret: string;
}

const prefix = 'whsec_';

export function newSigningSecret(): SigningSecret {
  return { keyId: `key_${randomBytes(9).toString('base64url')}`, secret: prefix + randomBytes(32).toString('base64') };
}

/** The bytes that sign. */
export function signingKey({ secret }: SigningSecret): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64');
}
