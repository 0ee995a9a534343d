import type { EdgeDescription } from '../edge-description.js';
import { additiveOperations, documentPaths, retiredPaths } from './additive-operations.js';
import { routeKey, type SpecOperation } from './spec-operations.js';

const PREFIX = '/api/v1';

/** `GET /api/v1/listings/{id}: 404` for each operation or status of the interface that the OpenAPI document lacks. */
export function undocumented(operations: SpecOperation[], { document }: EdgeDescription): string[] {
  const documented = new Map<string, Set<string>>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { responses }] of Object.entries(methods))
      documented.set(routeKey(`${method.toUpperCase()} ${path.replace(PREFIX, '')}`), new Set(Object.keys(responses)));
  }
  return operations.flatMap(({ name, statuses }) => {
    const shown = documented.get(routeKey(name));
    if (!shown) return [name];
    const isShown = (status: string): boolean =>
      status === '2xx' ? [...shown].some((other) => other.startsWith('2')) : shown.has(status);
    return statuses.filter((status) => !isShown(status)).map((status) => `${name}: ${status}`);
  });
}

/** Routes that neither the interface nor the list of additions names. */
export function undeclared(operations: SpecOperation[], { routes }: EdgeDescription): string[] {
  const declared = new Set(
    [...operations.map(({ name }) => name), ...Object.keys(additiveOperations)].map((name) => routeKey(name)),
  );
  return routes.filter((route) => {
    const [method, url] = route.split(' ') as [string, string];
    if (!url.startsWith(`${PREFIX}/`))
      return !Object.keys(documentPaths).some((known) => route === known || route.startsWith(`${known}/`));
    const path = url.slice(PREFIX.length);
    return !retiredPaths.includes(path) && !declared.has(routeKey(`${method} ${path}`));
  });
}

/** Additions that are declared but not served. */
export function unserved({ routes }: EdgeDescription): string[] {
  const served = new Set(routes.map((route) => routeKey(route.replace(`${PREFIX}/`, '/'))));
  return [...Object.keys(additiveOperations), ...Object.keys(documentPaths)].filter(
    (name) => !served.has(routeKey(name)),
  );
}
