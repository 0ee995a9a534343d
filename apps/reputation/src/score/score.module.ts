import { Module } from '@nestjs/common';
import { ScoreEvidence } from './evidence.js';
import { GetScore } from './get-score.query.js';
import { RecomputeScores } from './recompute-scores.js';
import { RefreshScores } from './refresh-scores.job.js';
import { ScoresMessageController } from './scores.message-controller.js';
import { Standings } from './standings.js';
import { VerifyScores } from './verify-scores.js';

@Module({ controllers: [ScoresMessageController], providers: [GetScore, ScoreEvidence, Standings, RefreshScores, RecomputeScores, VerifyScores] })
export class ScoreModule {}
