import { Module } from '@nestjs/common';
import { ContentsModule } from '../contents/contents.module.js';
import { EgressModule } from '../egress/egress.module.js';
import { EndpointsModule } from '../endpoints/endpoints.module.js';
import { gatewayLimits } from '../gateway-limits.js';
import { JobRecordsModule } from '../jobs/job-records.module.js';
import { OfferingsModule } from '../offerings/offerings.module.js';
import { QualityModule } from '../quality/quality.module.js';
import { BrokenStreams } from './broken-streams.js';
import { CallKeys } from './call-keys.js';
import { CallRecords } from './call-records.js';
import { CallTargets } from './call-target.js';
import { CallsEventController } from './calls.event-controller.js';
import { Attempt } from './attempt.js';
import { ActiveCalls } from './active-calls.js';
import { CoordinatePaidCall } from './coordinate-paid-call.js';
import { DeliverCall } from './deliver-call.js';
import { ExecuteCall } from './execute-call.use-case.js';
import { ExecuteKeylessCall } from './execute-keyless-call.use-case.js';
import { FreeCall } from './free-call.js';
import { Money } from './money.js';
import { OpenStreams } from './open-streams.js';
import { QuoteCall } from './quote-call.js';
import { ResumeCalls } from './resume-calls.job.js';
import { SellerCapacity } from './seller-capacity.js';
import { ValidateCall } from './validate-call.js';

@Module({
  imports: [
    gatewayLimits,
    ContentsModule,
    EgressModule,
    EndpointsModule,
    JobRecordsModule,
    OfferingsModule,
    QualityModule,
  ],
  controllers: [CallsEventController],
  providers: [
    CallKeys,
    CallRecords,
    ActiveCalls,
    SellerCapacity,
    CallTargets,
    ValidateCall,
    Money,
    OpenStreams,
    BrokenStreams,
    DeliverCall,
    Attempt,
    CoordinatePaidCall,
    QuoteCall,
    FreeCall,
    ExecuteCall,
    ExecuteKeylessCall,
    ResumeCalls,
  ],
  exports: [CallRecords, DeliverCall],
})
export class CallsModule {}
