import { evmWallet, solanaWallet, type Marketplace as Client } from '@market/sdk';
import { Marketplace } from '@market/sdk';
import pg from 'pg';
import type { Shot } from './load.js';

export const SEARCH_WORD = 'weather';
const LISTINGS = 10_000;
const PREPARE_CONNECTIONS = 32;

/** In US dollars, of a call. */
export const PRICE = 0.25;

/** A marketplace made ready for the bench: a seller, one paid listing and a buyer. */
export interface World {
  buyer: Client;
  buyerId: string;
  authorization: string;
  sellerId: string;
  listingId: string;
  listingSlug: string;
}

/** With a catalog to search. */
export async function fillWorld(baseUrl: string, databaseUrl: string, sellerUrl: string): Promise<World> {
  const world = await openShop(baseUrl, sellerUrl);
  await seedListings(databaseUrl, world.sellerId);
  return world;
}

export async function openShop(baseUrl: string, sellerUrl: string): Promise<World> {
  const anyone = new Marketplace({ baseUrl });
  const [seller, buyer] = await Promise.all([anyone.register(evmWallet(), { displayName: 'Bench seller' }), anyone.register(solanaWallet(), { displayName: 'Bench buyer' })]);
  const listing = await seller.marketplace.listings.create({
    name: 'Weather by the hour',
    description: 'The weather of any place for the next twelve hours.',
    pricing_model: 'per_call',
    pricing_amount: PRICE,
    private_endpoint_url: `${sellerUrl}/call`,
  });
  await seller.marketplace.endpoint.update(listing.id, { limits: { max_concurrency: 256 } });
  return {
    buyer: buyer.marketplace,
    buyerId: buyer.registration.user_id,
    authorization: buyer.registration.authorization_header,
    sellerId: seller.registration.user_id,
    listingId: listing.id,
    listingSlug: listing.slug,
  };
}

/** Names and descriptions from a small vocabulary; every twentieth listing speaks of the weather. */
async function seedListings(databaseUrl: string, providerId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      `INSERT INTO catalog.listings (id, version, provider_id, slug, name, description, pricing_model, price_micros, pricing_currency, preferred_currency, delivery_type, auth_method,
         formats, example_outputs, tags, status, published_at, created_at, updated_at)
       SELECT gen_random_uuid(), 1, $1, 'bench-' || n, 'Service ' || n, 'A service that answers questions about topic ' || (n % 997) || CASE WHEN n % 20 = 0 THEN ' and the ${SEARCH_WORD}' ELSE ' and more' END,
         'free', 0, 'USD', 'USDC', 'api', 'api_key', '{json}', '[]', '{bench}', 'active', now(), now() - n * interval '1 second', now()
       FROM generate_series(1, $2::int) AS n`,
      [providerId, LISTINGS],
    );
    await client.query('ANALYZE catalog.listings');
  } finally {
    await client.end();
  }
}

export const jsonHeaders = (world: World): Record<string, string> => ({ authorization: world.authorization, 'content-type': 'application/json' });
const body = (run: string, index: number): string => JSON.stringify({ place: 'Zurich', hours: 12, run, index });

/** Each quote is for another body, so each is a new offer. */
export const quoteShot = (world: World, run: string, index: number): Shot => ({ method: 'POST', path: `/api/v1/gateway/${world.listingId}`, headers: jsonHeaders(world), body: body(run, index) });

/** Offers that are quoted and paid, ready for their retry. */
export async function preparePaid(world: World, run: string, count: number): Promise<Shot[]> {
  const shots: Shot[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const shot = quoteShot(world, run, index);
      const quote = await world.buyer.send('POST', `/gateway/${world.listingId}`, { rawBody: shot.body!, headers: { 'content-type': 'application/json' } });
      const relayRequestId = (quote.json as { data: { payment: { relay_request_id: string } } }).data.payment.relay_request_id;
      await world.buyer.sandbox.pay(relayRequestId, {});
      shots.push({ ...shot, headers: { ...shot.headers, 'x-market-relay-request-id': relayRequestId } });
    }
  };
  await Promise.all(Array.from({ length: PREPARE_CONNECTIONS }, worker));
  return shots;
}
