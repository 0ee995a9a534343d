import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { parseJson, type JsonProblem } from './parse-json.js';

/**
 * SHA-256 (32 bytes) of the RFC 8785 form of a buyer's body, or why it has none. Bodies that `JSON.parse` reads alike share a
 * digest: other white space, order of keys and spelling, and also digits beyond the precision of a double and all but the last
 * of repeated keys.
 */
export function bodyDigest(body: string): { digest: Buffer } | { problem: JsonProblem | 'not_an_object' } {
  const parsed = parseJson(body);
  if ('problem' in parsed) return parsed;
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { problem: 'not_an_object' };
  return { digest: hash('sha256', canonicalForm(value) ?? body, 'buffer') };
}

/** None where RFC 8785 has none: a number beyond the range of a double, or half of a surrogate pair. Such a body is known by its own text. */
function canonicalForm(value: object): string | undefined {
  try {
    return canonicalize(value);
  } catch {
    return undefined;
  }
}
