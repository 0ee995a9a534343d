import type { RouteOptions } from 'fastify';

const SHOWN = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Which paths exist with which methods; asked only when a request matched no route. */
export class RouteTable {
  private readonly routes: { pattern: RegExp; methods: string[] }[] = [];

  add({ method, url }: Pick<RouteOptions, 'method' | 'url'>): void {
    const path = url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*');
    this.routes.push({ pattern: new RegExp(`^${path}$`), methods: [method].flat() });
  }

  /** None for an unknown path. */
  methodsAt(path: string): string[] {
    const served = new Set(this.routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods));
    return SHOWN.filter((method) => served.has(method));
  }
}
