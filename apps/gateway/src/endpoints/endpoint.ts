import type { endpointView } from '@market/contracts/gateway';
import type { OutputOf } from '@market/contracts';
import type { getEndpoint } from '@market/contracts/gateway';
import type { EndpointSecretEntity } from './endpoint-secret.entity.js';
import type { EndpointEntity } from './endpoint.entity.js';
import type { gatewayLimits } from '@market/contracts/gateway';
import type { FieldCipher } from '@market/persistence';
import { createHash } from 'node:crypto';
import type { z } from 'zod';

export type EndpointLimits = z.output<typeof gatewayLimits>;
export type EndpointView = OutputOf<typeof getEndpoint> & z.output<typeof endpointView>;

export const DEFAULT_LIMITS = {
  maxRequestBytes: 262_144,
  maxResponseBytes: 1_048_576,
  maxConcurrency: 32,
  requestsPerMinute: null,
};

/** Whether calls of the endpoint may be sold. An endpoint that was never tested is accepted. */
export const takesCalls = ({ status }: Pick<EndpointEntity, 'status'>): boolean =>
  status === 'active' || status === 'unverified';

/** A URL as it is stored. */
export const urlColumns = (
  listingId: string,
  url: string,
  cipher: FieldCipher,
): Pick<EndpointEntity, 'urlSealed' | 'urlDigest' | 'urlHost'> => ({
  urlSealed: cipher.encrypt(url, sealedFor.url(listingId)),
  urlDigest: createHash('sha256').update(`${listingId} ${url}`).digest(),
  urlHost: new URL(url).host,
});

/** Sets the URL. A changed URL must be verified again, by a call or by the probe at `probeAt`. */
export function moveTo(endpoint: EndpointEntity, url: string, probeAt: Date, cipher: FieldCipher): void {
  const columns = urlColumns(endpoint.listingId, url, cipher);
  if (endpoint.urlDigest.equals(columns.urlDigest)) return;
  Object.assign(endpoint, {
    ...columns,
    failedCalls: [],
    failedBuyers: [],
    health: 'unverified',
    probeAt,
  } satisfies Partial<EndpointEntity>);
}

/** The time of the first probe of a new URL. A successful call before it makes the probe unnecessary. */
export const firstProbeAt = (probeIntervalMs: number): Date => new Date(Date.now() + 2 * probeIntervalMs);

export const limitsOf = (endpoint: EndpointEntity): EndpointLimits => ({
  max_request_bytes: endpoint.maxRequestBytes,
  max_response_bytes: endpoint.maxResponseBytes,
  max_concurrency: endpoint.maxConcurrency,
  requests_per_minute: endpoint.requestsPerMinute,
});

/** What a seller may see of its endpoint: not the path of the URL, no credential, no secret. */
export function toView(endpoint: EndpointEntity, secrets: EndpointSecretEntity[]): EndpointView {
  const current = secrets.find((secret) => secret.expiresAt === null)!;
  const previous = secrets
    .filter((secret) => secret.expiresAt !== null)
    .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime())[0];
  return {
    listing_id: endpoint.listingId,
    status: endpoint.status,
    url_host: endpoint.urlHost,
    auth_header_name: endpoint.authHeaderName,
    has_auth_header: endpoint.authHeaderSealed !== null,
    timeout_ms: endpoint.timeoutMs,
    limits: limitsOf(endpoint),
    signature: {
      scheme: 'standard-webhooks-v1',
      key_id: current.keyId,
      rotated_at: previous ? current.createdAt.toISOString() : null,
      previous_secret_expires_at: previous?.expiresAt?.toISOString() ?? null,
    },
    last_test: endpoint.lastTestAt && {
      at: endpoint.lastTestAt.toISOString(),
      ok: endpoint.lastTestOk === true,
      status_code: endpoint.lastTestStatusCode,
      latency_ms: endpoint.lastTestLatencyMs ?? 0,
    },
    consecutive_failures: endpoint.failedCalls.length,
    updated_at: endpoint.updatedAt.toISOString(),
  };
}

/** The additional authenticated data of each encrypted column: table, column and row. */
export const sealedFor = {
  url: (listingId: string): string => `endpoints|url_sealed|${listingId}`,
  authHeader: (listingId: string): string => `endpoints|auth_header_sealed|${listingId}`,
  secret: (keyId: string): string => `endpoint_secrets|secret_sealed|${keyId}`,
};
