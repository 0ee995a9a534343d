import { isUuid } from '@market/kernel';
import { requestInvalid } from '../http/edge-refusals.js';
import type { Param } from '../http/query.js';

export interface PageEnd {
  key: string;
  id: string;
}

interface Cursor extends PageEnd {
  sort: string;
}

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\+00$/;
const isKey = (sort: string, key: string): boolean => {
  if (sort === 'newest') return TIME.test(key) && !Number.isNaN(Date.parse(key));
  if (sort === 'relevance') return /^[\d.e+-]{1,32}$/.test(key) && Number.isFinite(Number(key)) && key !== '';
  return /^\d{1,18}$/.test(key);
};

export const cursorOf = (sort: string, { key, id }: PageEnd): string =>
  Buffer.from(JSON.stringify([sort, key, id])).toString('base64url');

function read(text: string): Cursor | undefined {
  if (text.length > 256) return undefined;
  try {
    const cursor: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!Array.isArray(cursor) || cursor.length !== 3 || !cursor.every((part) => typeof part === 'string'))
      return undefined;
    const [sort, key, id] = cursor as [string, string, string];
    return isUuid(id) && isKey(sort, key) ? { sort, key, id } : undefined;
  } catch {
    return undefined;
  }
}

/** The end of the page before. @throws Refusal `request_invalid` for the cursor of another order. */
export function pageEndOf(cursor: Cursor | undefined, sort: string): PageEnd | undefined {
  if (cursor && cursor.sort !== sort) throw requestInvalid([{ field: 'cursor', message: listingCursorParam.problem }]);
  return cursor && { key: cursor.key, id: cursor.id };
}

/** Where a page of listings starts, in the order that the cursor was made in. */
export const listingCursorParam: Param<Cursor | undefined> = {
  read,
  problem: 'must be pagination.next_cursor of the page before, of the same search in the same order',
  fallback: undefined,
  schema: { type: 'string' },
  description:
    'pagination.next_cursor of the page before, in place of page: listings that come or go between do not shift it, and ' +
    'it goes on where pages end.',
};
