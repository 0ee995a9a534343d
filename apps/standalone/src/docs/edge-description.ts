import { apiGateway } from '@market/api-gateway';
import { inspectHttp, type ServiceDefinition } from '@market/runtime';

export interface OpenApiDocument {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
}

/** The operations that the edge serves, taken from the present code. */
export interface EdgeDescription {
  document: OpenApiDocument;
  /** Such as `GET /api/v1/listings/:listingId`, without HEAD and OPTIONS. */
  routes: string[];
}

/** The edge of a marketplace at the address that the examples use. The secret is required but encrypts nothing here. */
const ENVIRONMENT = { PUBLIC_URL: 'https://market.example' };

export const describeEdge = (): Promise<EdgeDescription> =>
  inspectHttp(apiGateway as ServiceDefinition, ENVIRONMENT, async ({ routes, get }) => ({
    document: JSON.parse(await get('/api/v1/openapi.json')) as OpenApiDocument,
    routes: [...new Set(routes.filter((route) => !/^(HEAD|OPTIONS) /.test(route)))].sort(),
  }));
