import { Module } from '@nestjs/common';
import { ContractWallets } from '../wallets/contract-wallets.js';
import { ClaimCodesRepository } from './claim-codes.repository.js';
import { CreateChallenge } from './create-challenge.use-case.js';
import { ChallengesRepository } from './challenges.repository.js';
import { SweepChallenges } from './sweep-challenges.job.js';
import { WalletProofs } from './wallet-proofs.js';

@Module({
  providers: [
    CreateChallenge,
    WalletProofs,
    SweepChallenges,
    ChallengesRepository,
    ClaimCodesRepository,
    ContractWallets,
  ],
  exports: [WalletProofs, ClaimCodesRepository],
})
export class ChallengesModule {}
