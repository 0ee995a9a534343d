import type { RouteOptions } from 'fastify';

const SHOWN = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const API = '/api/v1';
/** Paths with a greater edit distance are not suggested, and longer paths are not compared. */
const MAX_DISTANCE = 4;
const MAX_LENGTH = 120;

interface CallRoute {
  method: string;
  url: string;
  /** The part before the parameter. */
  prefix: string;
}

interface Route {
  url: string;
  pattern: RegExp;
  methods: string[];
}

/**
 * Stores which paths exist with which methods. It is used only for requests that match no route or are refused before
 * routing.
 */
export class RouteTable {
  private readonly routes: Route[] = [];
  private readonly calls: CallRoute[] = [];

  add({ method, url, config }: Pick<RouteOptions, 'method' | 'url' | 'config'>): void {
    if (config?.rules?.rate === 'calls')
      for (const each of [method].flat())
        this.calls.push({ method: each, url, prefix: url.slice(0, url.indexOf(':')) });
    const path = url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*');
    this.routes.push({ url, pattern: new RegExp(`^${path}$`), methods: [method].flat() });
  }

  /** Returns the template of the call route that matches the request. The parameter is the last segment. */
  callAt(method: string, url: string): string | undefined {
    return this.calls.find(
      ({ method: called, prefix }) =>
        called === method && url.startsWith(prefix) && url.length > prefix.length && !url.includes('/', prefix.length),
    )?.url;
  }

  /** Returns no methods for an unknown path. */
  methodsAt(path: string): string[] {
    const served = new Set(this.routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods));
    return SHOWN.filter((method) => served.has(method));
  }

  /** Returns the operations of a path, such as `GET /api/v1/listings/{listingId}`. */
  operationsAt(path: string): string[] {
    return operationsOf(this.routes.filter(({ pattern }) => pattern.test(path)));
  }

  /** Returns the operations whose paths are most similar to an unknown path, preferably with its method. */
  operationsLike(path: string, method: string): string[] {
    const asked = path
      .toLowerCase()
      .replaceAll(/\/+/g, '/')
      .replace(/(.)\/$/, '$1');
    if (asked.length > MAX_LENGTH) return [];
    const spellings = asked.startsWith('/api/') ? [asked] : [asked, API + asked];
    let least = Math.min(MAX_DISTANCE, Math.floor(asked.replace(/^\/api\/v\d+/, '').length / 2));
    let nearest: Route[] = [];
    for (const route of this.routes) {
      if (!route.url.startsWith(`${API}/`)) continue;
      const distance = Math.min(...spellings.map((spelling) => distanceTo(filledIn(route.url, spelling), spelling)));
      if (distance > least) continue;
      if (distance < least) nearest = [];
      least = distance;
      nearest.push(route);
    }
    const ofMethod = nearest.filter(({ methods }) => methods.includes(method));
    return operationsOf(ofMethod.length > 0 ? ofMethod : nearest);
  }
}

const operationsOf = (routes: Route[]): string[] => [
  ...new Set(
    routes.flatMap(({ url, methods }) =>
      SHOWN.filter((method) => method !== 'HEAD' && methods.includes(method)).map(
        (method) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`,
      ),
    ),
  ),
];

/** Replaces the parameters of a route by the segments of a path. */
function filledIn(url: string, path: string): string {
  const values = path.split('/');
  return url
    .split('/')
    .map((segment, place) => (segment.startsWith(':') ? (values[place] ?? '') : segment))
    .join('/');
}

/** Returns the edit distance (Levenshtein), or Infinity if the lengths differ by more than MAX_DISTANCE. */
function distanceTo(wanted: string, given: string): number {
  if (Math.abs(wanted.length - given.length) > MAX_DISTANCE) return Infinity;
  let row = Array.from({ length: given.length + 1 }, (_, place) => place);
  for (const [index, letter] of [...wanted].entries()) {
    const above = row;
    row = [index + 1];
    for (let place = 1; place <= given.length; place += 1)
      row.push(
        Math.min(above[place]! + 1, row[place - 1]! + 1, above[place - 1]! + (given[place - 1] === letter ? 0 : 1)),
      );
  }
  return row.at(-1)!;
}
