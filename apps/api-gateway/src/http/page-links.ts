import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pagination } from './envelope.js';
import { pathOf } from './edge-request.js';

/**
 * Adds RFC 8288 links to the neighbouring pages, with the filters of the request. A list with a cursor has only a link
 * to the next page.
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
    return `<${publicUrl.replace(/\/+$/, '')}${pathOf(request)}?${query}>; rel="${rel}"`;
  };
  const last = Math.max(totalPages, 1);
  const links = [link('first', 1)];
  if (page > 1) links.push(link('prev', Math.min(page - 1, last)));
  if (cursor !== undefined || (!isByCursor && page < last)) links.push(link('next', page + 1));
  reply.header('link', [...links, link('last', last)].join(', '));
}
