import { Module } from '@nestjs/common';
import { CallEvidence } from './call-evidence.js';
import { ListingQualityQuery } from './listing-quality.query.js';
import { MeasureQuality } from './measure-quality.job.js';

@Module({
  providers: [CallEvidence, MeasureQuality, ListingQualityQuery],
  exports: [CallEvidence],
})
export class QualityModule {}
