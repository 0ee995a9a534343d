import type { OutputOf } from '@market/contracts';
import type { endpointView, gatewayLimits, getEndpoint } from '@market/contracts/gateway';
import type { FieldCipher } from '@market/persistence';
import { createHash } from 'node:crypto';
import type { z } from 'zod';

export type EndpointLimits = z.output<typeof gatewayLimits>;
export type EndpointView = OutputOf<typeof getEndpoint> & z.output<typeof endpointView>;
export type EndpointStatus = EndpointView['status'];

/** How a seller is called. The API never returns the URL. */
export interface EndpointRow extends Omit<
  EndpointLimits,
  'max_response_bytes' | 'max_file_bytes' | 'job_deadline_seconds'
> {
  /** What the seller has set; see `largestAnswers`. */
  max_response_bytes: number | null;
  /** Set by a seller that answers by jobs. */
  job_deadline_seconds: number | null;
  listing_id: string;
  seller_id: string;
  /** The URL is encrypted, because its path or query may be the only secret that protects the endpoint. */
  url_sealed: Buffer;
  /** Used to compare URLs without decrypting them. */
  url_digest: Buffer;
  url_host: string;
  auth_header_name: string | null;
  auth_header_sealed: Buffer | null;
  timeout_ms: number;
  /** Whether the owner paused it. */
  paused: boolean;
  /** The health of the URL; a pause does not change it. */
  health: Exclude<EndpointStatus, 'paused'>;
  /**
   * The calls that failed since the last success, and the first two of their buyers. Repeated failures of a call count
   * once.
   */
  failed_calls: string[];
  failed_buyers: string[];
  /** When the marketplace's own test is due; null if none is. */
  probe_at: Date | null;
  last_test_at: Date | null;
  last_test_ok: boolean | null;
  last_test_status_code: number | null;
  last_test_latency_ms: number | null;
  /** Increases with each change that is published to other services. */
  version: number;
  updated_at: Date;
}

/** The largest answers that are taken. What the seller has set counts for every kind. */
export const largestAnswers = (set: number | null): { json: number; file: number } => ({
  json: Math.min(set ?? 1_048_576, 4_194_304),
  file: set ?? 33_554_432,
});

/** Until a seller sets another time. */
export const JOB_DEADLINE_SECONDS = 3_600;

export const endpointColumns = (alias: string): string =>
  [
    'listing_id',
    'seller_id',
    'url_sealed',
    'url_digest',
    'url_host',
    'auth_header_name',
    'auth_header_sealed',
    'timeout_ms',
    'max_request_bytes',
    'max_response_bytes',
    'idle_timeout_ms',
    'stream_timeout_ms',
    'job_deadline_seconds',
    'max_concurrency',
    'requests_per_minute',
    'paused',
    'health',
    'failed_calls',
    'failed_buyers',
    'probe_at',
    'last_test_at',
    'last_test_ok',
    'last_test_status_code',
    'last_test_latency_ms',
    'version',
    'updated_at',
  ]
    .map((column) => `${alias}.${column}`)
    .join(', ');

/** An encrypted signing secret. The current one has no expiry; the previous one also signs until it expires. */
export interface EndpointSecretRow {
  key_id: string;
  secret_sealed: Buffer;
  created_at: Date;
  expires_at: Date | null;
}

export const statusOf = ({ paused, health }: Pick<EndpointRow, 'paused' | 'health'>): EndpointStatus =>
  paused ? 'paused' : health;

/** Whether calls of the endpoint may be sold. An endpoint that was never tested is accepted. */
export const takesCalls = ({ status }: { status: EndpointStatus }): boolean =>
  status === 'active' || status === 'unverified';

/** The columns of an encrypted URL. */
export const urlColumns = (
  listingId: string,
  url: string,
  cipher: FieldCipher,
): Pick<EndpointRow, 'url_sealed' | 'url_digest' | 'url_host'> => ({
  url_sealed: cipher.encrypt(url, sealedFor.url(listingId)),
  url_digest: createHash('sha256').update(`${listingId} ${url}`).digest(),
  url_host: new URL(url).host,
});

/**
 * The changes to store for a URL; none if it is the same. A changed URL must be verified again, by a call or by the
 * probe at `probeAt`.
 */
export function moveTo(endpoint: EndpointRow, url: string, probeAt: Date, cipher: FieldCipher): Partial<EndpointRow> {
  const columns = urlColumns(endpoint.listing_id, url, cipher);
  return endpoint.url_digest.equals(columns.url_digest)
    ? {}
    : { ...columns, failed_calls: [], failed_buyers: [], health: 'unverified', probe_at: probeAt };
}

/** The time of the first probe of a new URL. A successful call before it makes the probe unnecessary. */
export const firstProbeAt = (probeIntervalMs: number): Date => new Date(Date.now() + 2 * probeIntervalMs);

export function limitsOf(endpoint: EndpointRow): EndpointLimits {
  const { json, file } = largestAnswers(endpoint.max_response_bytes);
  return {
    max_request_bytes: endpoint.max_request_bytes,
    max_response_bytes: json,
    max_file_bytes: file,
    idle_timeout_ms: endpoint.idle_timeout_ms,
    stream_timeout_ms: endpoint.stream_timeout_ms,
    job_deadline_seconds: endpoint.job_deadline_seconds ?? JOB_DEADLINE_SECONDS,
    max_concurrency: endpoint.max_concurrency,
    requests_per_minute: endpoint.requests_per_minute,
  };
}

/** The part of an endpoint that its seller may see. It contains no path of the URL, credential or secret. */
export function toView(endpoint: EndpointRow, secrets: EndpointSecretRow[]): EndpointView {
  const current = secrets.find((secret) => secret.expires_at === null)!;
  const previous = secrets
    .filter((secret) => secret.expires_at !== null)
    .sort((a, b) => b.created_at.getTime() - a.created_at.getTime())[0];
  return {
    listing_id: endpoint.listing_id,
    status: statusOf(endpoint),
    url_host: endpoint.url_host,
    auth_header_name: endpoint.auth_header_name,
    has_auth_header: endpoint.auth_header_sealed !== null,
    timeout_ms: endpoint.timeout_ms,
    limits: limitsOf(endpoint),
    signature: {
      scheme: 'standard-webhooks-v1',
      key_id: current.key_id,
      rotated_at: previous ? current.created_at.toISOString() : null,
      previous_secret_expires_at: previous?.expires_at?.toISOString() ?? null,
    },
    last_test: endpoint.last_test_at && {
      at: endpoint.last_test_at.toISOString(),
      ok: endpoint.last_test_ok === true,
      status_code: endpoint.last_test_status_code,
      latency_ms: endpoint.last_test_latency_ms ?? 0,
    },
    consecutive_failures: endpoint.failed_calls.length,
    updated_at: endpoint.updated_at.toISOString(),
  };
}

/** The additional authenticated data of each encrypted column: table, column and row. */
export const sealedFor = {
  url: (listingId: string): string => `endpoints|url_sealed|${listingId}`,
  authHeader: (listingId: string): string => `endpoints|auth_header_sealed|${listingId}`,
  secret: (keyId: string): string => `endpoint_secrets|secret_sealed|${keyId}`,
};
