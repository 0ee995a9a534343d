import { Database, SealedBox, sql } from '@market/persistence';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { urlColumns } from './endpoint.js';

const findReadable = sql('endpoints.find-readable-urls', 'SELECT listing_id, url FROM endpoints WHERE url IS NOT NULL FOR UPDATE SKIP LOCKED');
const seal = sql('endpoints.seal-url', 'UPDATE endpoints SET url = NULL, url_sealed = $2, url_digest = $3, url_host = $4 WHERE listing_id = $1');

/** Seals, before anything is served, the URLs that an earlier version stored readable. */
@Injectable()
export class SealEndpointUrls implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly box: SealedBox,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.database.transaction(async (tx) => {
      for (const { listing_id: listingId, url } of await tx.query<{ listing_id: string; url: string }>(findReadable)) {
        const { urlSealed, urlDigest, urlHost } = urlColumns(listingId, url, this.box);
        await tx.query(seal, [listingId, urlSealed, urlDigest, urlHost]);
      }
    });
  }
}
