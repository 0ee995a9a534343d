import { offerExample } from '../gateway/gateway.examples.js';
import { listingExample } from '../listings/listings.examples.js';
import { EXAMPLE_URL } from '../openapi/refusal-responses.js';
import { toResource, type BazaarResource } from './bazaar-resource.js';

const { extra, ...terms } = offerExample.x402[0]!;

export const resourceExample: BazaarResource = toResource(
  EXAMPLE_URL,
  listingExample,
  [{ ...terms, extra: { name: extra.name, version: extra.version } }],
  'http',
);
