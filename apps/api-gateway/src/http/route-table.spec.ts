import type { RouteRules } from './route-rules.js';
import { RouteTable } from './route-table.js';

describe('RouteTable', () => {
  const table = new RouteTable();
  table.add({ method: 'GET', url: '/api/v1/listings' });
  table.add({ method: ['HEAD'], url: '/api/v1/listings' });
  table.add({ method: 'POST', url: '/api/v1/listings/:listingId/endpoint/test' });
  table.add({ method: 'GET', url: '/llms.txt' });
  table.add({ method: 'GET', url: '/docs/*' });

  it('knows the calls by method and path', () => {
    const rules = { rate: 'calls' } as RouteRules;
    table.add({ method: 'POST', url: '/api/v1/gateway/:listingId', config: { rules } });
    expect(table.callAt('POST', '/api/v1/gateway/weather?x=1')).toBe('/api/v1/gateway/:listingId');
    for (const path of ['/api/v1/gateway/', '/api/v1/gateway/a/b', '/api/v1/listings/a', '/api/v1/gatewa'])
      expect(table.callAt('POST', path)).toBeUndefined();
    expect(table.callAt('GET', '/api/v1/gateway/weather')).toBeUndefined();
  });

  it.each([
    ['/api/v1/listings', ['GET', 'HEAD']],
    ['/api/v1/listings/x/endpoint/test', ['POST']],
    ['/docs/a/b.css', ['GET']],
    ['/llms.txt', ['GET']],
    ['/llmsxtxt', []],
    ['/api/v1/listings/', []],
    ['/api/v1/listings//endpoint/test', []],
    ['/api/v1/listings/a/b/endpoint/test', []],
    ['', []],
  ])('knows the methods of %p', (path, methods) => {
    expect(table.methodsAt(path)).toEqual(methods);
  });

  it.each([
    ['GET', '/api/v1/listing', ['GET /api/v1/listings']],
    ['POST', '/api/v1/Listings/', ['GET /api/v1/listings']],
    ['GET', '/listings', ['GET /api/v1/listings']],
    ['GET', '/v1/listings', ['GET /api/v1/listings']],
    ['POST', '/api/v1/listing/a-slug/endpoints/test', ['POST /api/v1/listings/{listingId}/endpoint/test']],
    ['GET', '/api/v1/nothing-of-the-kind', []],
    ['GET', '/api/v1/x', []],
    ['GET', '/', []],
    ['GET', `/api/v1/listings/${'x'.repeat(16_000)}`, []],
  ])('knows what is meant by %s %p', (method, path, operations) => {
    expect(table.operationsLike(path, method)).toEqual(operations);
  });
});
