import { LimitsModule } from '@market/limits';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Module } from '@nestjs/common';
import { CallEvents } from './calls/call-events.js';
import { CallKeys } from './calls/call-keys.js';
import { CallRecords } from './calls/call-records.js';
import { CallsMessageController } from './calls/calls.message-controller.js';
import { ExecuteCall } from './calls/execute-call.use-case.js';
import { ExecuteKeylessCall } from './calls/execute-keyless-call.use-case.js';
import { FreeCall } from './calls/free-call.js';
import { HeldClaims } from './calls/held-claims.js';
import { PaidCall } from './calls/paid-call.js';
import { ResumeCalls } from './calls/resume-calls.job.js';
import { SellerCall } from './calls/seller-call.js';
import { SellerCapacity } from './calls/seller-capacity.js';
import { gatewayConfig, type GatewayConfig } from './config.js';
import { EndpointUrlPolicy } from './egress/endpoint-url.policy.js';
import { SellerClient } from './egress/seller-client.js';
import { SellerConnections } from './egress/seller-connections.js';
import { SignedRequests } from './egress/signed-requests.js';
import { CallableEndpoints } from './endpoints/callable-endpoints.js';
import { EndpointHealth } from './endpoints/endpoint-health.js';
import { EndpointsMessageController } from './endpoints/endpoints.message-controller.js';
import { OwnedEndpoint } from './endpoints/owned-endpoint.js';
import { ProbeEndpoints } from './endpoints/probe-endpoints.job.js';
import { ProvisionEndpoint } from './endpoints/provision-endpoint.use-case.js';
import { RotateEndpointSecret } from './endpoints/rotate-endpoint-secret.use-case.js';
import { TestEndpoint } from './endpoints/test-endpoint.use-case.js';
import { UpdateEndpoint } from './endpoints/update-endpoint.use-case.js';
import { GatewayRequestsQuery } from './history/gateway-requests.query.js';
import { PruneHistory } from './history/prune-history.job.js';
import { Offerings } from './offerings/offerings.js';

@Module({
  imports: [LimitsModule.configuredBy(gatewayConfig)],
  controllers: [CallsMessageController, EndpointsMessageController],
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
    OwnedEndpoint,
    CallableEndpoints,
    EndpointHealth,
    ProvisionEndpoint,
    UpdateEndpoint,
    TestEndpoint,
    ProbeEndpoints,
    RotateEndpointSecret,
    Offerings,
    CallKeys,
    CallRecords,
    SellerCapacity,
    SellerCall,
    HeldClaims,
    PaidCall,
    FreeCall,
    ExecuteCall,
    ExecuteKeylessCall,
    ResumeCalls,
    CallEvents,
    GatewayRequestsQuery,
    PruneHistory,
  ],
})
export class GatewayModule {}
