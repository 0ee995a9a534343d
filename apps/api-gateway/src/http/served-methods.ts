import type { FastifyInstance, HTTPMethods } from 'fastify';

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The methods a concrete path is served with; none when it is unknown. */
export const methodsAt = (instance: FastifyInstance, path: string): string[] => METHODS.filter((method) => instance.findRoute({ method, url: path }) !== null);
