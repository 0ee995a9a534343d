import { endpointChanged, endpointTouched, getEndpoint } from '@market/contracts/gateway';
import { MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Outbox, FieldCipher, sql, type Database, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Offerings } from '../offerings/offerings.js';
import { newSigningSecret, type SigningSecret } from '../egress/signing-secret.js';
import {
  endpointColumns,
  limitsOf,
  sealedFor,
  statusOf,
  type EndpointRow,
  type EndpointSecretRow,
} from './endpoint.js';

const FIND_OWN = `SELECT ${endpointColumns('e')} FROM endpoints e WHERE e.listing_id = $1 AND e.seller_id = $2`;
const findOwn = sql('endpoints.find-own', FIND_OWN);
const lockOwn = sql('endpoints.lock-own', `${FIND_OWN} FOR UPDATE`);
const lock = sql(
  'endpoints.lock',
  `SELECT ${endpointColumns('e')} FROM endpoints e WHERE e.listing_id = $1 FOR UPDATE`,
);
const insert = sql(
  'endpoints.insert',
  `INSERT INTO endpoints (listing_id, seller_id, url_sealed, url_digest, url_host, timeout_ms, probe_at,
     max_request_bytes, max_concurrency, version)
   VALUES ($1, $2, $3, $4, $5, $6, $7, 262144, 32, 0) ON CONFLICT DO NOTHING RETURNING listing_id`,
);
const secretsOf = sql(
  'endpoint-secrets.of-endpoint',
  'SELECT key_id, secret_sealed, created_at, expires_at FROM endpoint_secrets WHERE listing_id = $1',
);
const insertSecret = sql(
  'endpoint-secrets.insert',
  'INSERT INTO endpoint_secrets (key_id, listing_id, secret_sealed) VALUES ($1, $2, $3)',
);

type NewEndpoint = Pick<
  EndpointRow,
  'listing_id' | 'seller_id' | 'url_sealed' | 'url_digest' | 'url_host' | 'timeout_ms' | 'probe_at'
>;

@Injectable()
export class EndpointsRepository {
  constructor(
    private readonly outbox: Outbox,
    private readonly bus: MessageBus,
    private readonly cipher: FieldCipher,
    private readonly offerings: Offerings,
  ) {}

  /** @throws Refusal `not_owner` for a listing of another seller that everyone can see, otherwise `endpoint_not_found`. */
  findOwn(from: Pick<Database, 'query'>, listingId: string, context: RequestContext): Promise<EndpointRow> {
    return this.ownBy(findOwn, from, listingId, context);
  }

  /** Like `findOwn`, and locks the row until the transaction ends. */
  lockOwn(tx: Tx, listingId: string, context: RequestContext): Promise<EndpointRow> {
    return this.ownBy(lockOwn, tx, listingId, context);
  }

  /** Returns the endpoint of a listing that has one, and locks it until the transaction ends. */
  async lock(tx: Tx, listingId: string): Promise<EndpointRow> {
    return (await tx.query<EndpointRow>(lock, [listingId]))[0]!;
  }

  /** @returns false if the listing already has an endpoint, including one that another process is inserting. */
  async insert(tx: Tx, endpoint: NewEndpoint): Promise<boolean> {
    const { listing_id, seller_id, url_sealed, url_digest, url_host, timeout_ms, probe_at } = endpoint;
    const values = [listing_id, seller_id, url_sealed, url_digest, url_host, timeout_ms, probe_at];
    return (await tx.query(insert, values)).length > 0;
  }

  secretsOf(from: Pick<Database, 'query'>, listingId: string): Promise<EndpointSecretRow[]> {
    return from.query<EndpointSecretRow>(secretsOf, [listingId]);
  }

  async addSecret(tx: Tx, listingId: string): Promise<SigningSecret> {
    const secret = newSigningSecret();
    const sealed = this.cipher.encrypt(secret.secret, sealedFor.secret(secret.keyId));
    await tx.query(insertSecret, [secret.keyId, listingId, sealed]);
    return secret;
  }

  async update(
    tx: Tx,
    listingId: string,
    changes: Partial<EndpointRow>,
    context: RequestContext,
  ): Promise<EndpointRow> {
    const columns = Object.keys(changes).map((column, index) => `${column} = $${index + 2}, `);
    const text = `UPDATE endpoints e SET ${columns.join('')}version = version + 1, updated_at = now()
      WHERE listing_id = $1 RETURNING ${endpointColumns('e')}`;
    const [updated] = await tx.query<EndpointRow>({ text }, [listingId, ...Object.values(changes)]);
    await this.publishChange(tx, updated!, false, context);
    return updated!;
  }

  /** Publishes the event with the change, and sends the signal after the commit. */
  async publishChange(tx: Tx, endpoint: EndpointRow, isFound: boolean, context: RequestContext): Promise<void> {
    const event = {
      listingId: endpoint.listing_id,
      sellerId: endpoint.seller_id,
      isFound,
      version: endpoint.version,
      status: statusOf(endpoint),
      limits: limitsOf(endpoint),
      changedAt: endpoint.updated_at.toISOString(),
    };
    this.outbox.add(tx, endpointChanged, event, context);
    tx.afterCommit(() => this.bus.signal(endpointTouched, { listingId: endpoint.listing_id }));
  }

  private async ownBy(
    statement: typeof findOwn,
    from: Pick<Database, 'query'>,
    listingId: string,
    context: RequestContext,
  ): Promise<EndpointRow> {
    const { accountId } = principalOf(context);
    const [endpoint] = await from.query<EndpointRow>(statement, [listingId, accountId]);
    if (endpoint) return endpoint;
    const offering = await this.offerings.find(listingId, context);
    const isAnothers = offering?.status === 'active' && offering.sellerId !== accountId;
    throw refuse(getEndpoint, isAnothers ? 'not_owner' : 'endpoint_not_found', {});
  }
}
