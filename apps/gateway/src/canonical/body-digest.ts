import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { parseJson, type JsonProblem } from './parse-json.js';

/**
 * Returns the SHA-256 (32 bytes) of the RFC 8785 form of a buyer's body, or the problem of an invalid body. Bodies that
 * `JSON.parse` reads as the same value have the same digest. They may differ in white space, order of keys, spelling,
 * digits beyond the precision of a double, and values of a repeated key except the last.
 */
export function bodyDigest(body: string): { digest: Buffer } | { problem: JsonProblem | 'not_an_object' } {
  const parsed = parseJson(body);
  if ('problem' in parsed) return parsed;
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { problem: 'not_an_object' };
  return { digest: hash('sha256', canonicalForm(value) ?? body, 'buffer') };
}

/**
 * Returns undefined if RFC 8785 has no form: for a number beyond the range of a double, or an unpaired surrogate. The
 * digest of such a body is that of its text.
 */
function canonicalForm(value: object): string | undefined {
  try {
    return canonicalize(value);
  } catch {
    return undefined;
  }
}
