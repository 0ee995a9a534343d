import type { FastifyInstance } from 'fastify';
import type { RouteRules } from '../http/route-rules.js';
import type { ConsoleFiles } from './console-files.js';

/** The routes of the console (apps/console/src/app.tsx). All of them serve the same page. */
const PAGES = [
  '/',
  '/catalog',
  '/listings/:slug',
  '/agents/:id',
  '/docs',
  '/sign-in',
  '/sign-in/oidc',
  '/mine',
  '/mine/*',
  '/operator',
  '/operator/*',
];

const RULES: RouteRules = { access: 'public', accounts: ['agent', 'human'], rate: 'none' };

/** Serves the web console. It registers no controllers, because the prefix of the interface would apply to them. */
export function serveConsole(instance: FastifyInstance, files: ConsoleFiles): void {
  const config = { rules: RULES };
  for (const url of PAGES) instance.get(url, { config }, (request, reply) => reply.send(files.pageFor(request, reply)));
  for (const name of files.guideNames)
    instance.get(`/docs/${name}`, { config }, (request, reply) => reply.send(files.guideFor(name, request, reply)));
  instance.get<{ Params: { name: string } }>('/assets/:name', { config }, (request, reply) => {
    const bytes = files.assetFor(request.params.name, request, reply);
    return bytes ? reply.send(bytes) : reply.callNotFound();
  });
}
