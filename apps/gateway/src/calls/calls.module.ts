import { Module } from '@nestjs/common';
import { EgressModule } from '../egress/egress.module.js';
import { EndpointsModule } from '../endpoints/endpoints.module.js';
import { gatewayLimits } from '../gateway-limits.js';
import { OfferingsModule } from '../offerings/offerings.module.js';
import { CallKeys } from './call-keys.js';
import { CallRecords } from './call-records.js';
import { CallsEventController } from './calls.event-controller.js';
import { CallsMessageController } from './calls.message-controller.js';
import { ExecuteCall } from './execute-call.use-case.js';
import { ExecuteKeylessCall } from './execute-keyless-call.use-case.js';
import { FreeCall } from './free-call.js';
import { HeldClaims } from './held-claims.js';
import { PaidCall } from './paid-call.js';
import { ResumeCalls } from './resume-calls.job.js';
import { SellerCall } from './seller-call.js';
import { SellerCapacity } from './seller-capacity.js';

@Module({
  imports: [gatewayLimits, EgressModule, EndpointsModule, OfferingsModule],
  controllers: [CallsMessageController, CallsEventController],
  providers: [
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
  ],
})
export class CallsModule {}
