import { isUuid } from '@market/kernel';
import anyAscii from 'any-ascii';
import { randomBytes } from 'node:crypto';
import { readAsLatin, replaceWords } from './lookalikes.js';

const MAX_LENGTH = 80;
const NUMBERED = 5;

/** Existing and likely paths under /listings, and values that faulty clients send. */
const RESERVED = new Set([
  'admin',
  'all',
  'api',
  'cards',
  'categories',
  'challenge',
  'challenges',
  'draft',
  'drafts',
  'endpoint',
  'export',
  'feed',
  'me',
  'mine',
  'new',
  'validate',
  'newest',
  'popular',
  'search',
  'suggest',
  'false',
  'null',
  'true',
  'undefined',
]);

/** Each character is a word of its own when it is written in Latin letters. */
const SYLLABLE = /\p{sc=Han}/gu;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export const isSlug = (text: string): boolean => text.length <= MAX_LENGTH + 8 && SLUG.test(text);

const inLatin = (word: string): string => anyAscii(word).replace(/[^A-Za-z0-9]/g, '');

/**
 * Converts a name to lower-case ASCII words joined by hyphens, or to "listing" if it has none. Words with lookalike
 * letters are read as Latin words, and those of other scripts are transliterated.
 */
export function slugOf(name: string): string {
  const words = replaceWords(name.normalize('NFKC'), readAsLatin)
    .replace(SYLLABLE, ' $& ')
    .replace(WORD, inLatin)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  return words.slice(0, MAX_LENGTH).replace(/-$/, '') || 'listing';
}

/** Generates candidates for a slug without end, best first: the plain slug, a few numbered ones, then random ones. */
export function* slugCandidates(name: string): Generator<string, never> {
  const base = slugOf(name);
  // A slug that equals an id or a reserved path would be unreachable.
  if (!RESERVED.has(base) && !isUuid(base)) yield base;
  for (let number = 2; number <= NUMBERED; number += 1) yield `${base}-${number}`;
  for (;;) yield `${base}-${randomBytes(3).toString('hex')}`;
}
