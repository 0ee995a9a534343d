import { Module } from '@nestjs/common';
import { CallEvidence } from './call-evidence.js';
import { ListingQualityQuery } from './listing-quality.query.js';
import { MeasureQuality } from './measure-quality.job.js';
import { QualityMessageController } from './quality.message-controller.js';

@Module({
  controllers: [QualityMessageController],
  providers: [CallEvidence, MeasureQuality, ListingQualityQuery],
  exports: [CallEvidence],
})
export class QualityModule {}
