import { platformConfig, type ConfigOf } from '@market/runtime';
import { Module } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { EndpointUrlPolicy } from './endpoint-url.policy.js';
import { SellerClient } from './seller-client.js';
import { SellerConnections } from './seller-connections.js';
import { SignedRequests } from './signed-requests.js';
import { WebhookSender } from './webhook-sender.js';

@Module({
  providers: [
    {
      provide: EndpointUrlPolicy,
      useFactory: (platform: ConfigOf<typeof platformConfig>, config: GatewayConfig) =>
        new EndpointUrlPolicy({
          allowPrivate: platform.allowPrivateEndpoints,
          ownHosts: [
            new URL(platform.publicUrl).host,
            `localhost:${config.port}`,
            ...config.ownHosts.split(',').filter(Boolean),
            ...config.internalHosts,
          ],
        }),
      inject: [platformConfig.token, gatewayConfig.token],
    },
    {
      provide: SellerConnections,
      useFactory: (platform: ConfigOf<typeof platformConfig>, config: GatewayConfig) =>
        new SellerConnections({
          allowPrivate: platform.allowPrivateEndpoints,
          connectTimeoutMs: config.sellerConnectTimeoutMs,
        }),
      inject: [platformConfig.token, gatewayConfig.token],
    },
    {
      provide: SellerClient,
      useFactory: (connections: SellerConnections, policy: EndpointUrlPolicy) => new SellerClient(connections, policy),
      inject: [SellerConnections, EndpointUrlPolicy],
    },
    SignedRequests,
    WebhookSender,
  ],
  exports: [EndpointUrlPolicy, SignedRequests, WebhookSender],
})
export class EgressModule {}
