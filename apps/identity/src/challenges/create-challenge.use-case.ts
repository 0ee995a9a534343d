import type { InputOf, OutputOf } from '@market/contracts';
import { createChallenge } from '@market/contracts/identity';
import { newProofOfWorkChallenge } from '@market/kernel';
import { refuse } from '@market/messaging';
import { platformConfig } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import { identityConfig, type IdentityConfig } from '../config.js';
import { parseWalletAddress } from '../wallets/wallet-address.js';
import { newNonce } from './challenge.js';
import { ChallengesRepository } from './infra/challenges.repository.js';
import { signInMessage } from './sign-in-message.js';

@Injectable()
export class CreateChallenge {
  constructor(
    private readonly challenges: ChallengesRepository,
    @Inject(identityConfig.token) private readonly config: IdentityConfig,
    @Inject(platformConfig.token) private readonly platform: { publicUrl: string },
  ) {}

  async execute(input: InputOf<typeof createChallenge>): Promise<OutputOf<typeof createChallenge>> {
    const { challengeTtlSeconds, maxOpenChallenges, powDifficulty } = this.config;
    const wallet = parseWalletAddress(input.walletAddress);
    if (!wallet) throw refuse(createChallenge, 'wallet_address_invalid', {});
    const asked = {
      wallet,
      purpose: input.purpose,
      chainId: input.chainId?.toString() ?? null,
      agentId: input.agentId ?? null,
      nonce: newNonce(),
      pow: { challenge: newProofOfWorkChallenge(), difficulty: powDifficulty },
    };
    const times = await this.challenges.insertWithin(maxOpenChallenges, asked, challengeTtlSeconds);
    if (!times) throw refuse(createChallenge, 'too_many_challenges', { retry_after_seconds: await this.challenges.secondsUntilNextExpiry(wallet.address) });
    return {
      message: signInMessage({ ...asked, ...times, publicUrl: this.platform.publicUrl }),
      nonce: asked.nonce,
      expires_in: challengeTtlSeconds,
      pow: { ...asked.pow, algorithm: 'sha256' },
    };
  }
}
