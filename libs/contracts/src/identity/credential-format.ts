import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const KEY_PREFIX = 'am_k_';
const SESSION_PREFIX = 'am_s_';
const DIGITS = /^[0-9A-Za-z]{49}$/;
const CHECKSUM_LENGTH = 6;

/** Random base62 digits of a key or a session token: 256 bits. */
export const CREDENTIAL_SECRET_LENGTH = 43;
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Builds a key: `am_k_`, 43 base62 digits, and 6 base62 digits of checksum. */
export const apiKeyOf = (secret: string): string => `${KEY_PREFIX}${secret}${checksumOf(secret)}`;

/** Builds the token of a human's session, which has the form of a key with the prefix `am_s_`. */
export const sessionTokenOf = (secret: string): string => `${SESSION_PREFIX}${secret}${checksumOf(secret)}`;

/**
 * The SHA-256 in hex by which every service identifies a key. Null if the form or the checksum is wrong, so that
 * invalid keys are refused without a request. A plain hash is enough, because 256 random bits cannot be guessed.
 */
export const hashApiKey = (text: string): string | null => hashUnder(KEY_PREFIX, text);

/** The same for a session token. */
export const hashSessionToken = (text: string): string | null => hashUnder(SESSION_PREFIX, text);

function hashUnder(prefix: string, text: string): string | null {
  const digits = text.slice(prefix.length);
  if (
    !text.startsWith(prefix) ||
    !DIGITS.test(digits) ||
    digits.slice(-CHECKSUM_LENGTH) !== checksumOf(digits.slice(0, -CHECKSUM_LENGTH))
  )
    return null;
  return createHash('sha256').update(text).digest('hex');
}

/** CRC-32, which detects every single error of typing or copying. */
function checksumOf(secret: string): string {
  let rest = crc32(secret);
  let digits = '';
  for (let position = 0; position < CHECKSUM_LENGTH; position += 1) {
    digits = BASE62[rest % BASE62.length]! + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}
