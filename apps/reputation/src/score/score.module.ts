import { Module } from '@nestjs/common';
import { GetScore } from './get-score.query.js';
import { ScoreEvidence } from './score-evidence.js';
import { ScoreSums } from './score-sums.js';

@Module({
  providers: [GetScore, ScoreEvidence, ScoreSums],
  exports: [ScoreEvidence],
})
export class ScoreModule {}
