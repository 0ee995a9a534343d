import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pagination } from './envelope.js';
import { pathOf } from './edge-request.js';

/** RFC 8288 links to the neighbouring pages, with the filters of this one. */
export function linkPages(request: FastifyRequest, reply: FastifyReply, publicUrl: string, { page, totalPages }: Pagination): void {
  const query = new URLSearchParams(request.query as Record<string, string>);
  const link = (rel: string, target: number): string => {
    query.set('page', String(target));
    return `<${publicUrl.replace(/\/+$/, '')}${pathOf(request)}?${query}>; rel="${rel}"`;
  };
  const last = Math.max(totalPages, 1);
  const links = [link('first', 1)];
  if (page > 1) links.push(link('prev', Math.min(page - 1, last)));
  if (page < last) links.push(link('next', page + 1));
  reply.header('link', [...links, link('last', last)].join(', '));
}
