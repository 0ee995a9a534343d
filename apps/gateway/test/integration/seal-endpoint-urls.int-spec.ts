import { newId } from '@market/kernel';
import { SealedBox } from '@market/persistence';
import { freshDatabase, type FreshDatabase } from '@market/testing';
import { gatewayDatabase } from '../../src/database.js';
import { sealedFor } from '../../src/endpoints/endpoint.js';
import { SealEndpointUrls } from '../../src/endpoints/seal-endpoint-urls.js';

const URL = 'https://seller.example:8443/calls?token=hunter2';

describe('URLs that an earlier version stored readable', () => {
  const box = new SealedBox(`k1:${Buffer.alloc(32, 7).toString('base64')}`);
  let db: FreshDatabase;

  beforeAll(async () => {
    db = await freshDatabase(gatewayDatabase);
  });
  afterAll(() => db.drop());

  it('are sealed when the service starts, once, also when several start', async () => {
    const ids = Array.from({ length: 20 }, newId);
    for (const id of ids) {
      await db.inspect(
        `INSERT INTO gateway.endpoints (listing_id, seller_id, url, timeout_ms, max_request_bytes, max_response_bytes, max_concurrency, status, version)
         VALUES ($1, $1, $2, 1000, 1024, 1024, 1, 'unverified', 0)`,
        [id, URL],
      );
    }
    await Promise.all(Array.from({ length: 3 }, () => new SealEndpointUrls(db.database, box).onModuleInit()));
    const rows = await db.inspect<{ listing_id: string; url: string | null; url_sealed: Buffer; url_digest: Buffer; url_host: string }>('SELECT * FROM gateway.endpoints');
    expect(rows.length).toBe(20);
    for (const row of rows) {
      expect([row.url, row.url_host, box.open(row.url_sealed, sealedFor.url(row.listing_id))]).toEqual([null, 'seller.example:8443', URL]);
      expect(row.url_sealed.includes('hunter2')).toBe(false);
    }
    expect(new Set(rows.map(({ url_digest }) => url_digest.toString('hex'))).size).toBe(20);
  });
});
