import { Module } from '@nestjs/common';
import { EgressModule } from '../egress/egress.module.js';
import { gatewayLimits } from '../gateway-limits.js';
import { JobRecordsModule } from '../jobs/job-records.module.js';
import { OfferingsModule } from '../offerings/offerings.module.js';
import { QualityModule } from '../quality/quality.module.js';
import { CallableEndpoints } from './callable-endpoints.js';
import { EndpointHealth } from './endpoint-health.js';
import { EndpointsEventController } from './endpoints.event-controller.js';
import { EndpointsRepository } from './endpoints.repository.js';
import { GetEndpoint } from './get-endpoint.query.js';
import { JobSeconds } from './job-seconds.query.js';
import { ProbeEndpoints } from './probe-endpoints.job.js';
import { ProvisionEndpoint } from './provision-endpoint.use-case.js';
import { RotateEndpointSecret } from './rotate-endpoint-secret.use-case.js';
import { TestEndpoint } from './test-endpoint.use-case.js';
import { UpdateEndpoint } from './update-endpoint.use-case.js';

@Module({
  imports: [gatewayLimits, EgressModule, JobRecordsModule, OfferingsModule, QualityModule],
  controllers: [EndpointsEventController],
  providers: [
    GetEndpoint,
    EndpointsRepository,
    CallableEndpoints,
    EndpointHealth,
    ProvisionEndpoint,
    UpdateEndpoint,
    TestEndpoint,
    ProbeEndpoints,
    RotateEndpointSecret,
    JobSeconds,
  ],
  exports: [CallableEndpoints, EndpointHealth],
})
export class EndpointsModule {}
