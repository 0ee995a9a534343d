import { updateEndpoint } from '@market/contracts/gateway';
import type { InputOf } from '@market/contracts';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, FieldCipher } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { EndpointUrlPolicy } from '../egress/endpoint-url.policy.js';
import { refuseSellerAuthHeader } from '../egress/seller-auth-header.js';
import { firstProbeAt, moveTo, sealedFor, toView, type EndpointRow, type EndpointView } from './endpoint.js';
import { EndpointsRepository } from './endpoints.repository.js';

type Input = InputOf<typeof updateEndpoint>;

/** Changes the given fields. A new URL must be verified again. `active` ends a pause, but does not make a failing endpoint healthy. */
@Injectable()
export class UpdateEndpoint {
  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
    private readonly policy: EndpointUrlPolicy,
    private readonly endpoints: EndpointsRepository,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  @HandleRequest(updateEndpoint)
  async execute(input: Input, context: RequestContext): Promise<EndpointView> {
    const { listing_id: listingId, private_endpoint_url: url, auth_header: header, limits, status } = input;
    return this.database.transaction(async (tx) => {
      const endpoint = await this.endpoints.lockOwn(tx, listingId, context);
      const changes: Partial<EndpointRow> = {
        ...(url !== undefined && this.urlChanges(endpoint, url)),
        ...(header !== undefined && this.authHeaderColumns(listingId, header)),
        ...(input.timeout_ms !== undefined && { timeout_ms: input.timeout_ms }),
        ...(status !== undefined && { paused: status === 'paused' }),
        ...limits,
      };
      const saved = await this.endpoints.update(tx, listingId, changes, context);
      return toView(saved, await this.endpoints.secretsOf(tx, listingId));
    });
  }

  private urlChanges(endpoint: EndpointRow, url: string): Partial<EndpointRow> {
    const checked = this.policy.check(url);
    if (!checked.ok) throw refuse(updateEndpoint, 'endpoint_url_refused', { problem: checked.reason });
    return moveTo(endpoint, checked.url.href, firstProbeAt(this.config.probeIntervalMs), this.cipher);
  }

  private authHeaderColumns(listingId: string, header: NonNullable<Input['auth_header']> | null): Partial<EndpointRow> {
    const problem = header && refuseSellerAuthHeader(header);
    if (problem) throw refuse(updateEndpoint, 'auth_header_refused', { problem });
    return {
      auth_header_name: header?.name ?? null,
      auth_header_sealed: header && this.cipher.encrypt(header.value, sealedFor.authHeader(listingId)),
    };
  }
}
