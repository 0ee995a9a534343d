import { provisionEndpoint } from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
import { Database, FieldCipher, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { EndpointUrlPolicy } from '../egress/endpoint-url.policy.js';
import { newSigningSecret } from '../egress/signing-secret.js';
import { EndpointSecretEntity } from './endpoint-secret.entity.js';
import { DEFAULT_LIMITS, firstProbeAt, limitsOf, moveTo, sealedFor, urlColumns } from './endpoint.js';
import { EndpointEntity } from './endpoint.entity.js';
import { OwnedEndpoint } from './owned-endpoint.js';

/** Creates a listing's endpoint, or sets the URL of an existing one. The secret is returned only at creation. */
@Injectable()
export class ProvisionEndpoint {
  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
    private readonly policy: EndpointUrlPolicy,
    private readonly owned: OwnedEndpoint,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  async execute(
    { listingId, sellerId, url }: InputOf<typeof provisionEndpoint>,
    context: RequestContext,
  ): Promise<OutputOf<typeof provisionEndpoint>> {
    const checked = this.policy.check(url);
    if (!checked.ok) throw refuse(provisionEndpoint, 'endpoint_url_refused', { problem: checked.reason });
    return this.database.transaction(async (tx) => {
      const isNew = await this.create(tx, listingId, sellerId, checked.url.href);
      const endpoint = await tx.manager.findOneOrFail(EndpointEntity, {
        where: { listingId },
        lock: { mode: 'pessimistic_write' },
      });
      invariant(endpoint.sellerId === sellerId, `the endpoint of ${listingId} belongs to the seller of the listing`);
      moveTo(endpoint, checked.url.href, firstProbeAt(this.config.probeIntervalMs), this.cipher);
      const saved = await this.owned.save(tx, endpoint, context);
      return {
        signingSecret: isNew ? await this.addSecret(tx, listingId) : undefined,
        status: saved.status,
        limits: limitsOf(saved),
      };
    });
  }

  /** @returns false if the listing has an endpoint already, also if another process has just created it. */
  private async create(tx: Tx, listingId: string, sellerId: string, url: string): Promise<boolean> {
    const values = {
      ...DEFAULT_LIMITS,
      listingId,
      sellerId,
      ...urlColumns(listingId, url, this.cipher),
      timeoutMs: this.config.sellerTimeoutMs,
      probeAt: firstProbeAt(this.config.probeIntervalMs),
      version: 0,
    };
    const inserted = await tx.manager
      .createQueryBuilder()
      .insert()
      .into(EndpointEntity)
      .values(values)
      .orIgnore()
      .returning('listing_id')
      .execute();
    return (inserted.raw as unknown[]).length > 0;
  }

  private async addSecret(tx: Tx, listingId: string): Promise<string> {
    const { keyId, secret } = newSigningSecret();
    await tx.manager.insert(EndpointSecretEntity, {
      keyId,
      listingId,
      secretSealed: this.cipher.encrypt(secret, sealedFor.secret(keyId)),
      expiresAt: null,
    });
    return secret;
  }
}
