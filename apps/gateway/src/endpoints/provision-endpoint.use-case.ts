import { provisionEndpoint } from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { refuse, type Call } from '@market/messaging';
import { Database, SealedBox } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { EndpointUrlPolicy } from '../egress/endpoint-url.policy.js';
import { newSigningSecret } from '../egress/signing-secret.js';
import { EndpointSecretEntity } from './endpoint-secret.entity.js';
import { DEFAULT_LIMITS, limitsOf, sealedFor } from './endpoint.js';
import { EndpointEntity } from './endpoint.entity.js';
import { OwnedEndpoint } from './owned-endpoint.js';

/** Makes a listing's endpoint, or gives an existing one a new URL; the secret is told only when it is made. */
@Injectable()
export class ProvisionEndpoint {
  constructor(
    private readonly database: Database,
    private readonly box: SealedBox,
    private readonly policy: EndpointUrlPolicy,
    private readonly owned: OwnedEndpoint,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  async execute({ listingId, sellerId, url }: InputOf<typeof provisionEndpoint>, call: Call): Promise<OutputOf<typeof provisionEndpoint>> {
    const checked = this.policy.check(url);
    if (!checked.ok) throw refuse(provisionEndpoint, 'endpoint_url_refused', { problem: checked.reason });
    return this.database.transaction(async (tx) => {
      const known = await tx.manager.findOne(EndpointEntity, { where: { listingId, sellerId }, lock: { mode: 'pessimistic_write' } });
      if (known) {
        const saved = await this.owned.save(tx, Object.assign(known, { url: checked.url.href, status: known.status === 'paused' ? 'paused' : 'unverified' }), call);
        return { status: saved.status, limits: limitsOf(saved) };
      }
      const endpoint = tx.manager.create(EndpointEntity, {
        ...DEFAULT_LIMITS,
        listingId,
        sellerId,
        url: checked.url.href,
        timeoutMs: this.config.sellerTimeoutMs,
        status: 'unverified',
        version: 0,
      });
      const saved = await this.owned.save(tx, endpoint, call);
      const secret = newSigningSecret();
      await tx.manager.insert(EndpointSecretEntity, { keyId: secret.keyId, listingId, secretSealed: this.box.seal(secret.secret, sealedFor.secret(secret.keyId)), expiresAt: null });
      return { signingSecret: secret.secret, status: saved.status, limits: limitsOf(saved) };
    });
  }
}
