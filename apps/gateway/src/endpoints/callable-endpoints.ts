import { endpointTouched } from '@market/contracts/gateway';
import { HandleSignal } from '@market/messaging';
import { Database, FieldCipher, sql } from '@market/persistence';
import { lookupCache } from '@market/runtime';
import { Injectable } from '@nestjs/common';
import type { SellerAuthHeader } from '../egress/seller-auth-header.js';
import type { SigningSecret } from '../egress/signing-secret.js';
import {
  JOB_DEADLINE_SECONDS,
  largestAnswers,
  sealedFor,
  type EndpointRow,
  type EndpointSecretRow,
  type EndpointStatus,
} from './endpoint.js';

const find = sql(
  'endpoints.find-callable',
  `SELECT listing_id AS "listingId", url_digest AS "urlDigest", CASE WHEN paused THEN 'paused' ELSE health END AS status,
     timeout_ms AS "timeoutMs", max_request_bytes AS "maxRequestBytes",
     max_response_bytes AS "maxAnswerBytes", idle_timeout_ms AS "idleTimeoutMs",
     stream_timeout_ms AS "streamTimeoutMs", job_deadline_seconds AS "setJobSeconds",
     EXISTS (SELECT FROM gateway_requests g WHERE g.listing_id = $1 AND g.job_until IS NOT NULL) AS "hasJobs",
     max_concurrency AS "maxConcurrency", requests_per_minute AS "requestsPerMinute",
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
  /** Of an answer that is JSON. */
  maxResponseBytes: number;
  /** Of an answer that is a file or a stream. */
  maxFileBytes: number;
  /** Of a stream: between two events, and from the first to the last. */
  idleTimeoutMs: number;
  streamTimeoutMs: number;
  /** Of a job: from the call to its delivery. */
  jobDeadlineSeconds: number;
  /** Whether the seller has set that, which says that it answers by jobs. */
  setsJobDeadline: boolean;
  /** Whether jobs of the listing are open. */
  hasJobs: boolean;
  maxConcurrency: number;
  requestsPerMinute: number | null;
  probeAt: Date | null;
}

/** For how long the buyers of a listing that answers by jobs have to sign; undefined if it does not say that it does. */
export const jobSecondsOf = (
  { setsJobDeadline, jobDeadlineSeconds }: Pick<Endpoint, 'setsJobDeadline' | 'jobDeadlineSeconds'>,
  deliveryType: string | undefined,
): number | undefined =>
  setsJobDeadline || deliveryType === 'webhook' || deliveryType === 'batch' ? jobDeadlineSeconds : undefined;

/** An endpoint with everything that a call needs, decrypted. It never leaves the process. */
export interface CallableEndpoint {
  endpoint: Endpoint;
  url: string;
  authHeader: SellerAuthHeader | null;
  secrets: [SigningSecret, ...SigningSecret[]];
}

/** Until when a call that is forwarded now may be delivered as a job, in Unix seconds. */
export const jobDeadlineOf = ({ endpoint }: CallableEndpoint, forwardedAt: number): number =>
  Math.floor(forwardedAt / 1_000) + endpoint.jobDeadlineSeconds;

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
    type EndpointColumns = Omit<
      Endpoint,
      'maxResponseBytes' | 'maxFileBytes' | 'jobDeadlineSeconds' | 'setsJobDeadline'
    > & { maxAnswerBytes: number | null; setJobSeconds: number | null };
    type SealedColumns = Pick<EndpointRow, 'url_sealed' | 'auth_header_name' | 'auth_header_sealed'>;
    const [[row], secrets] = await Promise.all([
      this.database.query<EndpointColumns & SealedColumns>(find, [listingId]),
      this.database.query<Pick<EndpointSecretRow, 'key_id' | 'secret_sealed'>>(findSecrets, [listingId]),
    ]);
    const [current, ...previous] = secrets.map(({ key_id, secret_sealed }) => ({
      keyId: key_id,
      secret: this.cipher.decrypt(secret_sealed, sealedFor.secret(key_id)),
    }));
    if (!row || !current) return false;
    const { url_sealed, auth_header_name, auth_header_sealed, maxAnswerBytes, setJobSeconds, ...columns } = row;
    const { json, file } = largestAnswers(maxAnswerBytes);
    const endpoint = {
      ...columns,
      maxResponseBytes: json,
      maxFileBytes: file,
      jobDeadlineSeconds: setJobSeconds ?? JOB_DEADLINE_SECONDS,
      setsJobDeadline: setJobSeconds !== null,
    };
    const authHeader = auth_header_sealed && {
      name: auth_header_name!,
      value: this.cipher.decrypt(auth_header_sealed, sealedFor.authHeader(listingId)),
    };
    const url = this.cipher.decrypt(url_sealed, sealedFor.url(listingId));
    return { endpoint, url, authHeader, secrets: [current, ...previous] };
  }
}
