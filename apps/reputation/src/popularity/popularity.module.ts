import { Module } from '@nestjs/common';
import { ScoreModule } from '../score/score.module.js';
import { MeasurePopularity } from './measure-popularity.job.js';

@Module({ imports: [ScoreModule], providers: [MeasurePopularity] })
export class PopularityModule {}
