import { updateEndpoint } from '@market/contracts/gateway';
import type { InputOf } from '@market/contracts';
import { refuse, type RequestContext } from '@market/messaging';
import { Database, FieldCipher } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { EndpointUrlPolicy } from '../egress/endpoint-url.policy.js';
import { refuseSellerAuthHeader } from '../egress/seller-auth-header.js';
import { firstProbeAt, moveTo, sealedFor, toView, type EndpointView } from './endpoint.js';
import type { EndpointEntity } from './endpoint.entity.js';
import { OwnedEndpoint } from './owned-endpoint.js';

type Input = InputOf<typeof updateEndpoint>;

/** Changes the given fields. A new URL must be verified again. `active` ends a pause, but does not make a failing endpoint healthy. */
@Injectable()
export class UpdateEndpoint {
  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
    private readonly policy: EndpointUrlPolicy,
    private readonly owned: OwnedEndpoint,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  async execute(input: Input, context: RequestContext): Promise<EndpointView> {
    return this.database.transaction(async (tx) => {
      const endpoint = await this.owned.find(tx.manager, input.listingId, context, true);
      if (input.privateEndpointUrl !== undefined) this.changeUrl(endpoint, input.privateEndpointUrl);
      if (input.authHeader !== undefined) this.changeAuthHeader(endpoint, input.authHeader);
      if (input.timeoutMs !== undefined) endpoint.timeoutMs = input.timeoutMs;
      if (input.status !== undefined) endpoint.paused = input.status === 'paused';
      const { limits } = input;
      endpoint.maxRequestBytes = limits?.max_request_bytes ?? endpoint.maxRequestBytes;
      endpoint.maxResponseBytes = limits?.max_response_bytes ?? endpoint.maxResponseBytes;
      endpoint.maxConcurrency = limits?.max_concurrency ?? endpoint.maxConcurrency;
      if (limits?.requests_per_minute !== undefined) endpoint.requestsPerMinute = limits.requests_per_minute;
      const saved = await this.owned.save(tx, endpoint, context);
      return toView(saved, await this.owned.secretsOf(tx.manager, saved.listingId));
    });
  }

  private changeUrl(endpoint: EndpointEntity, url: string): void {
    const checked = this.policy.check(url);
    if (!checked.ok) throw refuse(updateEndpoint, 'endpoint_url_refused', { problem: checked.reason });
    moveTo(endpoint, checked.url.href, firstProbeAt(this.config.probeIntervalMs), this.cipher);
  }

  private changeAuthHeader(endpoint: EndpointEntity, header: NonNullable<Input['authHeader']> | null): void {
    const problem = header && refuseSellerAuthHeader(header);
    if (problem) throw refuse(updateEndpoint, 'auth_header_refused', { problem });
    endpoint.authHeaderName = header?.name ?? null;
    endpoint.authHeaderSealed = header && this.cipher.encrypt(header.value, sealedFor.authHeader(endpoint.listingId));
  }
}
