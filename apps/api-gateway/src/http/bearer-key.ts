import { hashApiKey } from '@market/contracts/identity';
import type { IncomingMessage } from 'node:http';

const SCHEME = 'bearer ';

/**
 * The hash of the API key a request presents: undefined when it has no Authorization header, null when it has one that
 * is not exactly `Bearer <key>` with a well-formed key. Node hands out the first of repeated headers, so they are counted.
 */
export function presentedKeyHash(request: IncomingMessage): string | null | undefined {
  const header = request.headers.authorization;
  if (header === undefined) return undefined;
  if (header.slice(0, SCHEME.length).toLowerCase() !== SCHEME || isRepeated(request.rawHeaders)) return null;
  return hashApiKey(header.slice(SCHEME.length));
}

function isRepeated(rawHeaders: string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count += 1;
  }
  return count > 1;
}
