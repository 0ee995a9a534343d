import { Module } from '@nestjs/common';
import { CallsModule } from '../calls/calls.module.js';
import { ContentsModule } from '../contents/contents.module.js';
import { EgressModule } from '../egress/egress.module.js';
import { EndpointsModule } from '../endpoints/endpoints.module.js';
import { CancelCall } from './cancel-call.use-case.js';
import { DeliverJob } from './deliver-job.use-case.js';
import { EndJob } from './end-job.js';
import { JobRecordsModule } from './job-records.module.js';
import { TendJobs } from './tend-jobs.job.js';

@Module({
  imports: [CallsModule, ContentsModule, EgressModule, EndpointsModule, JobRecordsModule],
  providers: [EndJob, DeliverJob, CancelCall, TendJobs],
})
export class JobsModule {}
