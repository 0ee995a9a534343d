import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { JsonRejected } from './json-rejected.error.js';
import { buyerBodyRules, type JsonRules } from './json-rules.js';
import { scanJson } from './scan-json.js';

/**
 * SHA-256 (32 bytes) of the RFC 8785 form of a buyer's body. Bodies that differ only in white space, order of keys or spelling of
 * numbers and strings share a digest; bodies that mean different things do not.
 * @throws {JsonRejected} when the body breaks the rules or is not a JSON object.
 */
export function bodyDigest(raw: Uint8Array | string, rules: JsonRules = buyerBodyRules): Buffer {
  const { text, root } = scanJson(raw, rules);
  if (root !== 'object') throw new JsonRejected('not_an_object', 0);
  return hash('sha256', canonicalize(JSON.parse(text))!, 'buffer');
}
