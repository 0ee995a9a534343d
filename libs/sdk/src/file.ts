import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex } from '@noble/hashes/utils';
import { base64 } from '@scure/base';
import { MarketplaceError } from './errors.js';
import { isStream } from './stream.js';
import type { GatewayResult } from './types.js';

/** The `seller_response` of a call that was answered with a file. */
export interface FileAnswer {
  /** As the seller sent it. */
  content_type: string;
  /** Bytes. */
  size: number;
  /** Of the bytes, in lower-case hex. */
  sha256: string;
  /** Absent above 1 MiB. */
  base64?: string;
  /** The path of the bytes; null for a call without a key. */
  content_url: string | null;
}

/** Whether a `seller_response` is a file. */
export function isFile(answer: unknown): answer is FileAnswer {
  const { content_type, size, sha256, content_url } = (answer ?? {}) as Partial<FileAnswer>;
  return (
    typeof content_type === 'string' &&
    Number.isSafeInteger(size) &&
    /^[0-9a-f]{64}$/.test(String(sha256)) &&
    content_url !== undefined &&
    !isStream(answer)
  );
}

/**
 * Returns the bytes of the file or stream that a call was answered with.
 * @param read gets those that are not in the answer.
 * @throws MarketplaceError with `NO_FILE` or `DIGEST_MISMATCH`.
 */
export async function bytesOf(
  { seller_response: answer }: GatewayResult,
  read: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
  // A stream has an address with a key alone.
  if (!isFile(answer) && !(isStream(answer) && answer.content_url !== null))
    throw failure('NO_FILE', 'The call was not answered with a file: see seller_response.');
  const bytes = isFile(answer) && answer.base64 !== undefined ? decoded(answer.base64) : await read();
  if (bytes && bytesToHex(sha256(bytes)) === answer.sha256) return bytes;
  throw failure('DIGEST_MISMATCH', 'The bytes are not those of the file: their SHA-256 is not its sha256.');
}

function decoded(text: string): Uint8Array | undefined {
  try {
    return base64.decode(text);
  } catch {
    return undefined;
  }
}

const failure = (code: 'NO_FILE' | 'DIGEST_MISMATCH', message: string): MarketplaceError =>
  new MarketplaceError({ status: 200, code, message });
