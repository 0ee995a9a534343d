import type { FastifyInstance } from 'fastify';
import type { RouteRules } from '../http/route-rules.js';
import type { ConsoleFiles } from './console-files.js';

/** The routes that the console itself knows (apps/console/src/app.tsx): one page, which shows what its address says. */
const PAGES = [
  '/',
  '/catalog',
  '/listings/:slug',
  '/agents/:id',
  '/docs',
  '/sign-in',
  '/mine',
  '/mine/*',
  '/operator',
  '/operator/*',
];

const RULES: RouteRules = { access: 'public', accounts: ['agent', 'human'], rate: 'none' };

/** The web console: files, and no part of the interface, so no controller: the prefix of the interface is not theirs. */
export function serveConsole(instance: FastifyInstance, files: ConsoleFiles): void {
  const config = { rules: RULES };
  for (const url of PAGES) instance.get(url, { config }, (request, reply) => reply.send(files.pageFor(request, reply)));
  instance.get<{ Params: { name: string } }>('/assets/:name', { config }, (request, reply) => {
    const bytes = files.assetFor(request.params.name, request, reply);
    return bytes ? reply.send(bytes) : reply.callNotFound();
  });
}
