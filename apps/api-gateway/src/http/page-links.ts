import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pagination } from './envelope.js';
import { pathOf } from './edge-request.js';

/** Longer links are left out, because proxies limit all headers of an answer to 4 KiB together. */
const MAX_LENGTH = 1_000;

/**
 * Adds RFC 8288 links to the neighbouring pages, with the filters of the request. A list with a cursor has only a link
 * to the next page. With a long query, those to the first and the last page are left out
 * first, then all.
 */
export function linkPages(
  request: FastifyRequest,
  reply: FastifyReply,
  publicUrl: string,
  { page, totalPages, next_cursor: cursor }: Pagination,
): void {
  const query = new URLSearchParams(request.query as Record<string, string>);
  const { principal } = request.context;
  // The authentication hook removed `agent_id` from the query.
  if (principal?.ownerId) query.set('agent_id', principal.accountId);
  const isByCursor = query.has('cursor');
  const link = (rel: string, target: number): string => {
    query.set('page', String(target));
    if (cursor !== undefined && rel === 'next') query.set('cursor', cursor);
    else query.delete('cursor');
    return `<${publicUrl}${pathOf(request)}?${query}>; rel="${rel}"`;
  };
  const last = Math.max(totalPages, 1);
  const next = cursor !== undefined || (!isByCursor && page < last) ? [link('next', page + 1)] : [];
  const prev = page > 1 ? [link('prev', Math.min(page - 1, last))] : [];
  const candidates = [[link('first', 1), ...prev, ...next, link('last', last)], [...prev, ...next], next];
  const links = candidates.map((some) => some.join(', ')).find((text) => text !== '' && text.length <= MAX_LENGTH);
  if (links !== undefined) reply.header('link', links);
}
