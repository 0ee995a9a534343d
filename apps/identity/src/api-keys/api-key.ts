import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'am_k_';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const SHOWN_LENGTH = 12;

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORM = /^am_k_[0-9A-Za-z]{49}$/;

/** A raw API key. It exists in memory while a request is answered; storage knows only its hash and its shown prefix. */
export type ApiKey = string & { readonly __brand: 'ApiKey' };

/** `am_k_`, 43 random base62 digits (256 bits) and 6 base62 digits of checksum. */
export function generateApiKey(): ApiKey {
  const secret = randomBase62(SECRET_LENGTH);
  return `${PREFIX}${secret}${checksumOf(secret)}` as ApiKey;
}

/** The key, or null when its form or checksum is wrong: such noise never reaches the database. */
export function parseApiKey(text: string): ApiKey | null {
  if (!FORM.test(text)) return null;
  const secret = text.slice(PREFIX.length, PREFIX.length + SECRET_LENGTH);
  return text.endsWith(checksumOf(secret)) ? (text as ApiKey) : null;
}

/** SHA-256, 32 bytes. A plain hash is enough: nobody guesses 256 random bits. */
export const hashApiKey = (key: ApiKey): Buffer => createHash('sha256').update(key).digest();

/** The first 12 characters, shown in listings so that people tell their keys apart; never a credential. */
export const apiKeyPrefix = (key: ApiKey): string => key.slice(0, SHOWN_LENGTH);

/** CRC-32 in base62: finds typing and copying mistakes without a look-up. */
function checksumOf(secret: string): string {
  let rest = crc32(secret);
  let digits = '';
  for (let position = 0; position < CHECKSUM_LENGTH; position++) {
    digits = BASE62[rest % BASE62.length] + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}

function randomBase62(length: number): string {
  // Bytes from the largest multiple of 62 upwards are drawn again, so that every digit is equally likely.
  const bound = 256 - (256 % BASE62.length);
  let digits = '';
  while (digits.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < bound && digits.length < length) digits += BASE62[byte % BASE62.length];
    }
  }
  return digits;
}
