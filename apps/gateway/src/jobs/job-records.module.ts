import { Module } from '@nestjs/common';
import { JobRecords } from './job-records.js';

@Module({ providers: [JobRecords], exports: [JobRecords] })
export class JobRecordsModule {}
