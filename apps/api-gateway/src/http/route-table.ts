import type { RouteOptions } from 'fastify';

const SHOWN = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const API = '/api/v1';
/** A path that differs by more characters is another one; longer ones are not compared. */
const MAX_DISTANCE = 4;
const MAX_LENGTH = 120;

interface CallRoute {
  method: string;
  url: string;
  /** The part before its parameter. */
  prefix: string;
}

interface Route {
  url: string;
  pattern: RegExp;
  methods: string[];
}

/** Which paths exist with which methods; asked only when a request matched no route, or is refused before it is matched. */
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

  /** The template of the call that a request is for, whose parameter is the end of its path. */
  callAt(method: string, url: string): string | undefined {
    return this.calls.find(
      ({ method: called, prefix }) =>
        called === method && url.startsWith(prefix) && url.length > prefix.length && !url.includes('/', prefix.length),
    )?.url;
  }

  /** None for an unknown path. */
  methodsAt(path: string): string[] {
    const served = new Set(this.routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods));
    return SHOWN.filter((method) => served.has(method));
  }

  /** The operations of a path, `GET /api/v1/listings/{listingId}`. */
  operationsAt(path: string): string[] {
    return operationsOf(this.routes.filter(({ pattern }) => pattern.test(path)));
  }

  /** The operations of the interface whose path is spelt most like one that does not exist, with its method where one of them has it. */
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

/** A route with the values that a path has in the places of its parameters. */
function filledIn(url: string, path: string): string {
  const values = path.split('/');
  return url
    .split('/')
    .map((segment, place) => (segment.startsWith(':') ? (values[place] ?? '') : segment))
    .join('/');
}

/** How many characters are to be added, left out or changed (Levenshtein); infinite where it is certainly too many. */
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
