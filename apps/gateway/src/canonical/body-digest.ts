import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { readBody, type BodyProblem } from './parse-json.js';

/**
 * Returns the SHA-256 (32 bytes) of the RFC 8785 form of a buyer's body, or the problem of an invalid body. Bodies with
 * the same value have the same digest; they may differ in white space, order of keys and spelling.
 */
export function bodyDigest(body: string): { digest: Buffer } | { problem: BodyProblem } {
  const read = readBody(body);
  if ('problem' in read) return read;
  return { digest: hash('sha256', canonicalForm(read) ?? body, 'buffer') };
}

/**
 * Returns undefined if RFC 8785 has no form of its own: for a number that no double holds, or an unpaired surrogate. The
 * digest of such a body is that of its text.
 */
function canonicalForm({ value, isExact }: { value: object; isExact: boolean }): string | undefined {
  if (!isExact) return undefined;
  try {
    return canonicalize(value);
  } catch {
    return undefined;
  }
}
