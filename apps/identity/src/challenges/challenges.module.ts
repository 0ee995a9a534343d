import { Module } from '@nestjs/common';
import { ContractWallets } from '../wallets/contract-wallets.js';
import { ChallengesMessageController } from './challenges.message-controller.js';
import { CreateChallenge } from './create-challenge.use-case.js';
import { ChallengesRepository } from './challenges.repository.js';
import { SweepChallenges } from './sweep-challenges.job.js';
import { WalletProofs } from './wallet-proofs.js';

@Module({
  controllers: [ChallengesMessageController],
  providers: [CreateChallenge, WalletProofs, SweepChallenges, ChallengesRepository, ContractWallets],
  exports: [WalletProofs],
})
export class ChallengesModule {}
