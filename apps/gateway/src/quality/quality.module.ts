import { Module } from '@nestjs/common';
import { CallEvidence } from './call-evidence.js';
import { MeasureQuality } from './measure-quality.job.js';

@Module({ providers: [CallEvidence, MeasureQuality], exports: [CallEvidence] })
export class QualityModule {}
