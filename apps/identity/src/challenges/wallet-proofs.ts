import type { RequestContract } from '@market/contracts';
import type { ChallengePurpose, walletProofRefusals, workProofRefusals } from '@market/contracts/identity';
import { solvesProofOfWork } from '@market/kernel';
import { refuse } from '@market/messaging';
import { platformConfig } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';
import { parseWalletAddress, type WalletAddress } from '../wallets/wallet-address.js';
import { verifyWalletProof } from '../wallets/wallet-proof.js';
import { isNonce, type Challenge } from './challenge.js';
import { ChallengesRepository, type Consumed } from './infra/challenges.repository.js';
import { signInMessage } from './sign-in-message.js';

/** The answer to a challenge, as the client spells it. */
export interface ChallengeAnswer {
  walletAddress: string;
  signature: string;
  nonce: string;
}

type ProvingContract = RequestContract<z.ZodType, z.ZodType, typeof walletProofRefusals>;
type WorkProvingContract = RequestContract<z.ZodType, z.ZodType, typeof workProofRefusals>;

/** Work that was done, as events tell it. */
export interface SolvedWork {
  difficulty: number;
  /** By PostgreSQL's clock, from handing out the challenge to its use. */
  solveMs: number;
  solvedAt: string;
}

/** The front door of challenges: who passes holds the wallet. */
@Injectable()
export class WalletProofs {
  constructor(
    private readonly challenges: ChallengesRepository,
    @Inject(platformConfig.token) private readonly platform: { publicUrl: string },
  ) {}

  /** @throws Refusal of `walletProofRefusals`. */
  async prove(contract: ProvingContract, purpose: ChallengePurpose, answer: ChallengeAnswer): Promise<Challenge> {
    const challenge = await this.find(contract, purpose, answer);
    await this.judge(contract, challenge, answer.signature);
    return challenge;
  }

  /**
   * The same for those who have nothing yet but their wallet: cheap checks come first, and the challenge is used up before
   * the expensive one, so that each signature anyone wants checked costs them a proof of work.
   * @throws Refusal of `workProofRefusals`.
   */
  async proveWithWork(contract: WorkProvingContract, purpose: ChallengePurpose, answer: ChallengeAnswer & { powNonce: string }): Promise<{ wallet: WalletAddress; work: SolvedWork }> {
    const challenge = await this.find(contract, purpose, answer);
    const { difficulty } = challenge.pow;
    if (!solvesProofOfWork(challenge.pow.challenge, answer.powNonce, difficulty)) throw refuse(contract, 'proof_of_work_invalid', { difficulty });
    const { solveMs, solvedAt } = await this.judge(contract, challenge, answer.signature);
    return { wallet: challenge.wallet, work: { difficulty, solveMs, solvedAt: solvedAt.toISOString() } };
  }

  private async find(contract: ProvingContract, purpose: ChallengePurpose, answer: ChallengeAnswer): Promise<Challenge> {
    const wallet = parseWalletAddress(answer.walletAddress);
    if (!wallet) throw refuse(contract, 'wallet_address_invalid', {});
    const challenge = isNonce(answer.nonce) ? await this.challenges.findOpen(answer.nonce, wallet, purpose) : null;
    if (!challenge) throw refuse(contract, 'challenge_invalid', {});
    return challenge;
  }

  private async judge(contract: ProvingContract, challenge: Challenge, signature: string): Promise<Consumed> {
    const consumed = await this.challenges.consume(challenge);
    if (!consumed) throw refuse(contract, 'challenge_invalid', {});
    const message = signInMessage({ ...challenge, publicUrl: this.platform.publicUrl });
    if (!(await verifyWalletProof(challenge.wallet, message, signature))) throw refuse(contract, 'signature_invalid', {});
    return consumed;
  }
}
