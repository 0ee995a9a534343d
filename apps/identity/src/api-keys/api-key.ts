import { API_KEY_SECRET_LENGTH, apiKeyOf, BASE62 } from '@market/contracts/identity';
import { randomBytes } from 'node:crypto';

const SHOWN_LENGTH = 12;

/** Bytes from the largest multiple of 62 upwards are drawn again, so that every digit is equally likely. */
const BOUND = 256 - (256 % BASE62.length);

/** A raw key: in memory while one request is answered. Storage knows only its hash and its shown prefix. */
export function generateApiKey(): string {
  let secret = '';
  while (secret.length < API_KEY_SECRET_LENGTH) {
    for (const byte of randomBytes(API_KEY_SECRET_LENGTH - secret.length)) if (byte < BOUND) secret += BASE62[byte % BASE62.length]!;
  }
  return apiKeyOf(secret);
}

/** The first 12 characters, shown in lists so that people tell their keys apart; never a credential. */
export const apiKeyPrefix = (key: string): string => key.slice(0, SHOWN_LENGTH);
