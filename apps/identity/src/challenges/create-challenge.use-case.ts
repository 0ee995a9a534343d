import type { InputOf, OutputOf, Principal } from '@market/contracts';
import { type ChallengePurpose, createChallenge } from '@market/contracts/identity';
import { newProofOfWorkChallenge } from '@market/kernel';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { platformConfig } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import { identityConfig, type IdentityConfig } from '../config.js';
import { parseWalletAddress } from '../wallets/wallet-address.js';
import { newNonce } from './challenge.js';
import { ChallengesRepository } from './challenges.repository.js';
import { ClaimCodesRepository } from './claim-codes.repository.js';
import { signInMessage } from './sign-in-message.js';

const MANAGING: ReadonlySet<ChallengePurpose> = new Set(['wallet_link', 'wallet_update']);

@Injectable()
export class CreateChallenge {
  constructor(
    private readonly challenges: ChallengesRepository,
    private readonly claimCodes: ClaimCodesRepository,
    @Inject(identityConfig.token) private readonly config: IdentityConfig,
    @Inject(platformConfig.token) private readonly platform: { publicUrl: string },
  ) {}

  @HandleRequest(createChallenge)
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
      ...(await this.accountsOf(input, principal)),
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
  /**
   * Returns the account that the signature is for. To manage wallets, this is the account of the authenticated request,
   * if any.
   */
  private async accountsOf(
    { purpose, agent_id: agentId, claim_code: code }: InputOf<typeof createChallenge>,
    principal: Principal | undefined,
  ): Promise<{ agentId: string | null; humanId: string | null }> {
    if (purpose === 'claim' && code !== undefined) {
      if (principal?.accountType !== 'agent') throw refuse(createChallenge, 'claim_code_needs_key', {});
      const humanId = await this.claimCodes.consume(principal.accountId, code);
      if (humanId === undefined) throw refuse(createChallenge, 'claim_code_invalid', {});
      return { agentId: principal.accountId, humanId };
    }
    if (purpose === 'claim') {
      if (agentId === undefined) throw refuse(createChallenge, 'claim_needs_agent', {});
      if (principal?.accountType !== 'human') throw refuse(createChallenge, 'claim_needs_session', {});
      return { agentId, humanId: principal.accountId };
    }
    const managed = MANAGING.has(purpose) && principal?.accountType === 'agent' ? principal.accountId : null;
    return { agentId: agentId ?? managed, humanId: null };
  }
}
