import { BASE62, CREDENTIAL_SECRET_LENGTH } from '@market/contracts/identity';
import { randomBytes } from 'node:crypto';

/** Bytes from the largest multiple of 62 upwards are discarded, so that every digit is equally likely. */
const MAX_UNBIASED_BYTE = 256 - (256 % BASE62.length);

/** The random digits of a new key or session token. */
export function newCredentialSecret(): string {
  let secret = '';
  while (secret.length < CREDENTIAL_SECRET_LENGTH) {
    for (const byte of randomBytes(CREDENTIAL_SECRET_LENGTH - secret.length))
      if (byte < MAX_UNBIASED_BYTE) secret += BASE62[byte % BASE62.length]!;
  }
  return secret;
}
