import { Module } from '@nestjs/common';
import { EgressModule } from '../egress/egress.module.js';
import { EndpointsModule } from '../endpoints/endpoints.module.js';
import { gatewayLimits } from '../gateway-limits.js';
import { OfferingsModule } from '../offerings/offerings.module.js';
import { QualityModule } from '../quality/quality.module.js';
import { CallKeys } from './call-keys.js';
import { CallRecords } from './call-records.js';
import { CallTargets } from './call-target.js';
import { CallsEventController } from './calls.event-controller.js';
import { Attempt } from './attempt.js';
import { ActiveCalls } from './active-calls.js';
import { CallsMessageController } from './calls.message-controller.js';
import { CoordinatePaidCall } from './coordinate-paid-call.js';
import { ExecuteCall } from './execute-call.use-case.js';
import { ExecuteKeylessCall } from './execute-keyless-call.use-case.js';
import { FreeCall } from './free-call.js';
import { Money } from './money.js';
import { QuoteCall } from './quote-call.js';
import { ResumeCalls } from './resume-calls.job.js';
import { SellerCapacity } from './seller-capacity.js';
import { ValidateCall } from './validate-call.js';

@Module({
  imports: [gatewayLimits, EgressModule, EndpointsModule, OfferingsModule, QualityModule],
  controllers: [CallsMessageController, CallsEventController],
  providers: [
    CallKeys,
    CallRecords,
    ActiveCalls,
    SellerCapacity,
    CallTargets,
    ValidateCall,
    Money,
    Attempt,
    CoordinatePaidCall,
    QuoteCall,
    FreeCall,
    ExecuteCall,
    ExecuteKeylessCall,
    ResumeCalls,
  ],
  exports: [CallRecords],
})
export class CallsModule {}
