import { endpointTouched } from '@market/contracts/gateway';
import { HandleSignal } from '@market/messaging';
import { Database, FieldCipher } from '@market/persistence';
import { lookupCache } from '@market/runtime';
import { Injectable } from '@nestjs/common';
import { IsNull, MoreThan } from 'typeorm';
import type { SellerAuthHeader } from '../egress/seller-auth-header.js';
import type { SigningSecret } from '../egress/signing-secret.js';
import { EndpointSecretEntity } from './endpoint-secret.entity.js';
import { sealedFor } from './endpoint.js';
import { EndpointEntity } from './endpoint.entity.js';

/** An endpoint with all that a call of it needs, unsealed; never leaves the process. */
export interface CallableEndpoint {
  endpoint: EndpointEntity;
  url: string;
  authHeader: SellerAuthHeader | null;
  secrets: [SigningSecret, ...SigningSecret[]];
}

/** Endpoints as calls use them: at most a second old, and dropped at once when one changes. */
@Injectable()
export class CallableEndpoints {
  /** `false` for a listing without one. */
  private readonly cache = lookupCache<CallableEndpoint | false>(1_000, (listingId) => this.load(listingId));

  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
  ) {}

  async find(listingId: string): Promise<CallableEndpoint | null> {
    return (await this.cache.forceFetch(listingId)) || null;
  }

  @HandleSignal(endpointTouched)
  drop({ listingId }: { listingId: string }): void {
    this.cache.delete(listingId);
  }

  private async load(listingId: string): Promise<CallableEndpoint | false> {
    const [endpoint, secrets] = await Promise.all([
      this.database.read((manager) => manager.findOneBy(EndpointEntity, { listingId })),
      this.database.read((manager) =>
        manager.find(EndpointSecretEntity, {
          where: [
            { listingId, expiresAt: IsNull() },
            { listingId, expiresAt: MoreThan(new Date()) },
          ],
          // The current one, which has no end, comes first.
          order: { expiresAt: { direction: 'DESC', nulls: 'FIRST' } },
        }),
      ),
    ]);
    const [current, ...previous] = secrets.map(({ keyId, secretSealed }) => ({
      keyId,
      secret: this.cipher.decrypt(secretSealed, sealedFor.secret(keyId)),
    }));
    if (!endpoint || !current) return false;
    const authHeader = endpoint.authHeaderSealed && {
      name: endpoint.authHeaderName!,
      value: this.cipher.decrypt(endpoint.authHeaderSealed, sealedFor.authHeader(listingId)),
    };
    return {
      endpoint,
      url: this.cipher.decrypt(endpoint.urlSealed, sealedFor.url(listingId)),
      authHeader,
      secrets: [current, ...previous],
    };
  }
}
