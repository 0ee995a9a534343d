import { provisionEndpoint } from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, FieldCipher } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { EndpointUrlPolicy } from '../egress/endpoint-url.policy.js';
import { firstProbeAt, limitsOf, moveTo, statusOf, urlColumns } from './endpoint.js';
import { EndpointsRepository } from './endpoints.repository.js';

/** Creates a listing's endpoint, or sets the URL of an existing one. The secret is returned only at creation. */
@Injectable()
export class ProvisionEndpoint {
  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
    private readonly policy: EndpointUrlPolicy,
    private readonly endpoints: EndpointsRepository,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  @HandleRequest(provisionEndpoint)
  async execute(
    { listingId, sellerId, url }: InputOf<typeof provisionEndpoint>,
    context: RequestContext,
  ): Promise<OutputOf<typeof provisionEndpoint>> {
    const checked = this.policy.check(url);
    if (!checked.ok) throw refuse(provisionEndpoint, 'endpoint_url_refused', { problem: checked.reason });
    const { href } = checked.url;
    const probeAt = firstProbeAt(this.config.probeIntervalMs);
    return this.database.transaction(async (tx) => {
      const isNew = await this.endpoints.insert(tx, {
        listing_id: listingId,
        seller_id: sellerId,
        ...urlColumns(listingId, href, this.cipher),
        timeout_ms: this.config.sellerTimeoutMs,
        probe_at: probeAt,
      });
      const endpoint = await this.endpoints.lock(tx, listingId);
      invariant(endpoint.seller_id === sellerId, `the endpoint of ${listingId} belongs to the seller of the listing`);
      const saved = await this.endpoints.update(tx, listingId, moveTo(endpoint, href, probeAt, this.cipher), context);
      return {
        signingSecret: isNew ? (await this.endpoints.addSecret(tx, listingId)).secret : undefined,
        status: statusOf(saved),
        limits: limitsOf(saved),
      };
    });
  }
}
