import { evmWallet, solanaWallet, type CreateListing, type Marketplace as Client } from '@market/sdk';
import { Marketplace } from '@market/sdk';
import pg from 'pg';
import { addressOf, type Shot } from './load.js';
import { progress } from './progress.js';

export const SEARCH_WORD = 'weather';
const LISTINGS = 10_000;
const PREPARE_CONNECTIONS = 32;
/** There are enough buyers that each stays within the limits of one account. */
const BUYERS = 256;

/** The default limits, counted by the address that the bench puts into a header. */
export const LIMITS_AS_SHIPPED = { RATE_LIMITS: '', API_GATEWAY_TRUSTED_PROXIES: '127.0.0.1' };

/** The price of a call in US dollars. */
export const PRICE = 0.25;

interface Buyer {
  id: string;
  client: Client;
  authorization: string;
}

/** A marketplace with a seller, one paid listing and its buyers. */
export interface Fixtures {
  buyers: Buyer[];
  sellerId: string;
  listingId: string;
  listingSlug: string;
}

/** Also fills the catalog that is searched. */
export async function createFixtures(baseUrl: string, databaseUrl: string, sellerUrl: string): Promise<Fixtures> {
  const fixtures = await openShop(baseUrl, sellerUrl);
  await seedListings(databaseUrl, fixtures.sellerId);
  return fixtures;
}

export async function openShop(
  baseUrl: string,
  sellerUrl: string,
  buyerCount = BUYERS,
  offered: Partial<CreateListing> = {},
): Promise<Fixtures> {
  const clientAt = (address: string): Client =>
    new Marketplace({
      baseUrl,
      fetch: (input, init) => {
        const headers = new Headers(init?.headers);
        headers.set('x-forwarded-for', address);
        return fetch(input, { ...init, headers });
      },
    });
  const seller = await clientAt('10.255.255.255').register(evmWallet(), { displayName: 'Bench seller' });
  const buyers: Buyer[] = [];
  const registered = progress('registering buyers', buyerCount);
  let next = 0;
  const register = async (): Promise<void> => {
    for (let n = next++; n < buyerCount; n = next++) {
      const { marketplace, registration } = await clientAt(addressOf(n)).register(solanaWallet(), {
        displayName: 'Bench buyer',
      });
      buyers.push({ id: registration.user_id, client: marketplace, authorization: registration.authorization_header });
      registered(buyers.length);
    }
  };
  await Promise.all(Array.from({ length: PREPARE_CONNECTIONS }, register));
  const listing = await seller.marketplace.listings.create({
    name: 'Weather by the hour',
    description: 'The weather of any place for the next twelve hours.',
    pricing_model: 'per_call',
    pricing_amount: PRICE,
    private_endpoint_url: `${sellerUrl}/call`,
    ...offered,
  });
  await seller.marketplace.endpoint.update(listing.id, { limits: { max_concurrency: 256 } });
  return {
    buyers,
    sellerId: seller.registration.user_id,
    listingId: listing.id,
    listingSlug: listing.slug,
  };
}

/** Names and descriptions from a small vocabulary; every twentieth listing is about the weather. */
async function seedListings(databaseUrl: string, providerId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const written = progress('writing listings', LISTINGS);
  try {
    await client.query(
      `INSERT INTO catalog.listings (id, version, provider_id, slug, name, description,
         pricing_model, price_micros, pricing_currency, preferred_currency, delivery_type, auth_method,
         formats, example_outputs, tags, status, published_at, created_at, updated_at, search)
       SELECT gen_random_uuid(), 1, $1, 'bench-' || n, 'Service ' || n,
         text,
         'free', 0, 'USD', 'USDC', 'api', 'api_key',
         '{json}', '[]', '{bench}', 'active', now(), now() - n * interval '1 second', now(),
         setweight(to_tsvector('pg_catalog.english', 'Service ' || n), 'A')
           || setweight(to_tsvector('pg_catalog.english', text), 'C')
       FROM generate_series(1, $2::int) AS n,
         concat('A service that answers questions about topic ', n % 997,
           CASE WHEN n % 20 = 0 THEN ' and the ${SEARCH_WORD}' ELSE ' and more' END) AS text`,
      [providerId, LISTINGS],
    );
    await client.query('ANALYZE catalog.listings');
    written(LISTINGS);
  } finally {
    await client.end();
  }
}

export const buyerAt = ({ buyers }: Fixtures, index: number): Buyer => buyers[index % buyers.length]!;
export const jsonHeaders = (fixtures: Fixtures, index: number): Record<string, string> => ({
  authorization: buyerAt(fixtures, index).authorization,
  'content-type': 'application/json',
});
const body = (run: string, index: number): string => JSON.stringify({ place: 'Zurich', hours: 12, run, index });

/** Each quote is for another body, so that each makes a new offer. */
export const quoteShot = (fixtures: Fixtures, run: string, index: number): Shot => ({
  method: 'POST',
  path: `/api/v1/gateway/${fixtures.listingId}`,
  headers: jsonHeaders(fixtures, index),
  body: body(run, index),
});

/** Quotes and pays offers, whose calls are then repeated by the measurement. */
export async function preparePaid(fixtures: Fixtures, run: string, count: number): Promise<Shot[]> {
  const shots: Shot[] = [];
  const prepared = progress('quoting and paying calls', count);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const shot = quoteShot(fixtures, run, index);
      const { client } = buyerAt(fixtures, index);
      const quote = await client.send('POST', `/gateway/${fixtures.listingId}`, {
        rawBody: shot.body!,
        headers: { 'content-type': 'application/json' },
      });
      const relayRequestId = (quote.json as { data: { payment: { relay_request_id: string } } }).data.payment
        .relay_request_id;
      await client.sandbox.pay(relayRequestId, {});
      shots.push({ ...shot, headers: { ...shot.headers, 'x-market-relay-request-id': relayRequestId } });
      prepared(shots.length);
    }
  };
  await Promise.all(Array.from({ length: PREPARE_CONNECTIONS }, worker));
  return shots;
}
