import { Module } from '@nestjs/common';
import { ChallengesModule } from '../challenges/challenges.module.js';
import { LinkWallet } from './link-wallet.use-case.js';
import { ReadWallets } from './read-wallets.query.js';
import { UpdateWallet } from './update-wallet.use-case.js';
import { Wallets } from './wallets.js';

@Module({
  imports: [ChallengesModule],
  providers: [Wallets, ReadWallets, LinkWallet, UpdateWallet],
  exports: [Wallets],
})
export class WalletsModule {}
