import type { InputOf, OutputOf, Principal } from '@market/contracts';
import { createChallenge, type ChallengePurpose } from '@market/contracts/identity';
import { newProofOfWorkChallenge } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
import { platformConfig } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import { identityConfig, type IdentityConfig } from '../config.js';
import { parseWalletAddress } from '../wallets/wallet-address.js';
import { newNonce } from './challenge.js';
import { ChallengesRepository } from './challenges.repository.js';
import { signInMessage } from './sign-in-message.js';

const MANAGING: ReadonlySet<ChallengePurpose> = new Set(['wallet_link', 'wallet_update']);

@Injectable()
export class CreateChallenge {
  constructor(
    private readonly challenges: ChallengesRepository,
    @Inject(identityConfig.token) private readonly config: IdentityConfig,
    @Inject(platformConfig.token) private readonly platform: { publicUrl: string },
  ) {}

  async execute(
    input: InputOf<typeof createChallenge>,
    { principal }: RequestContext,
  ): Promise<OutputOf<typeof createChallenge>> {
    const { challengeTtlSeconds, powDifficulty } = this.config;
    const wallet = parseWalletAddress(input.wallet_address);
    if (!wallet) throw refuse(createChallenge, 'wallet_address_invalid', {});
    const asked = {
      wallet,
      purpose: input.purpose,
      chainId: input.chain_id?.toString() ?? null,
      ...accountsOf(input, principal),
      nonce: newNonce(),
      pow: { challenge: newProofOfWorkChallenge(), difficulty: powDifficulty },
    };
    const times = await this.challenges.insert(asked, challengeTtlSeconds);
    return {
      message: signInMessage({ ...asked, ...times, publicUrl: this.platform.publicUrl }),
      nonce: asked.nonce,
      expires_in: challengeTtlSeconds,
      pow: { ...asked.pow, algorithm: 'sha256' },
    };
  }
}

/**
 * Returns the account that the signature is for. To manage wallets, this is the account of the authenticated request,
 * if any.
 */
function accountsOf(
  { purpose, agent_id: agentId }: InputOf<typeof createChallenge>,
  principal: Principal | undefined,
): { agentId: string | null; humanId: string | null } {
  if (purpose === 'claim') {
    if (agentId === undefined) throw refuse(createChallenge, 'claim_needs_agent', {});
    if (principal?.accountType !== 'human') throw refuse(createChallenge, 'claim_needs_session', {});
    return { agentId, humanId: principal.accountId };
  }
  const managed = MANAGING.has(purpose) && principal?.accountType === 'agent' ? principal.accountId : null;
  return { agentId: agentId ?? managed, humanId: null };
}
