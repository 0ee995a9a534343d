import { endpointTouched } from '@market/contracts/gateway';
import { HandleSignal } from '@market/messaging';
import { Database, FieldCipher, sql } from '@market/persistence';
import { lookupCache } from '@market/runtime';
import { Injectable } from '@nestjs/common';
import type { SellerAuthHeader } from '../egress/seller-auth-header.js';
import type { SigningSecret } from '../egress/signing-secret.js';
import { sealedFor, type EndpointRow, type EndpointSecretRow, type EndpointStatus } from './endpoint.js';

const find = sql(
  'endpoints.find-callable',
  `SELECT listing_id AS "listingId", url_digest AS "urlDigest", CASE WHEN paused THEN 'paused' ELSE health END AS status,
     timeout_ms AS "timeoutMs", max_request_bytes AS "maxRequestBytes",
     max_response_bytes AS "maxResponseBytes", max_concurrency AS "maxConcurrency", requests_per_minute AS "requestsPerMinute",
     probe_at AS "probeAt", url_sealed, auth_header_name, auth_header_sealed
   FROM endpoints WHERE listing_id = $1`,
);
// The current secret, which has no expiry, comes first.
const findSecrets = sql(
  'endpoint-secrets.find-valid',
  `SELECT key_id, secret_sealed FROM endpoint_secrets
   WHERE listing_id = $1 AND (expires_at IS NULL OR expires_at > now())
   ORDER BY expires_at DESC NULLS FIRST`,
);

/** The part of an endpoint that calls use. */
export interface Endpoint {
  listingId: string;
  urlDigest: Buffer;
  status: EndpointStatus;
  timeoutMs: number;
  maxRequestBytes: number;
  maxResponseBytes: number;
  maxConcurrency: number;
  requestsPerMinute: number | null;
  probeAt: Date | null;
}

/** An endpoint with everything that a call needs, decrypted. It never leaves the process. */
export interface CallableEndpoint {
  endpoint: Endpoint;
  url: string;
  authHeader: SellerAuthHeader | null;
  secrets: [SigningSecret, ...SigningSecret[]];
}

/** Caches endpoints for calls for at most a second. A change of an endpoint drops it immediately. */
@Injectable()
export class CallableEndpoints {
  /** `false` if the listing has no endpoint. */
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
    type SealedColumns = Pick<EndpointRow, 'url_sealed' | 'auth_header_name' | 'auth_header_sealed'>;
    const [[row], secrets] = await Promise.all([
      this.database.query<Endpoint & SealedColumns>(find, [listingId]),
      this.database.query<Pick<EndpointSecretRow, 'key_id' | 'secret_sealed'>>(findSecrets, [listingId]),
    ]);
    const [current, ...previous] = secrets.map(({ key_id, secret_sealed }) => ({
      keyId: key_id,
      secret: this.cipher.decrypt(secret_sealed, sealedFor.secret(key_id)),
    }));
    if (!row || !current) return false;
    const { url_sealed, auth_header_name, auth_header_sealed, ...endpoint } = row;
    const authHeader = auth_header_sealed && {
      name: auth_header_name!,
      value: this.cipher.decrypt(auth_header_sealed, sealedFor.authHeader(listingId)),
    };
    const url = this.cipher.decrypt(url_sealed, sealedFor.url(listingId));
    return { endpoint, url, authHeader, secrets: [current, ...previous] };
  }
}
