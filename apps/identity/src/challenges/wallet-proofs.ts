import type { RequestContract } from '@market/contracts';
import type { ChallengePurpose, walletProofRefusals } from '@market/contracts/identity';
import { solvesProofOfWork } from '@market/kernel';
import { refuse } from '@market/messaging';
import { platformConfig } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';
import { parseWalletAddress, type WalletAddress } from '../wallets/wallet-address.js';
import { verifyWalletProof } from '../wallets/wallet-proof.js';
import { isNonce } from './challenge.js';
import { ChallengesRepository } from './infra/challenges.repository.js';
import { signInMessage } from './sign-in-message.js';

/** The answer to a challenge, as the client spells it. */
export interface ChallengeAnswer {
  walletAddress: string;
  signature: string;
  nonce: string;
  powNonce: string;
}

type ProvingContract = RequestContract<z.ZodType, z.ZodType, typeof walletProofRefusals>;

/** The front door of challenges: who passes holds the wallet, and has worked for it. */
@Injectable()
export class WalletProofs {
  constructor(
    private readonly challenges: ChallengesRepository,
    @Inject(platformConfig.token) private readonly platform: { publicUrl: string },
  ) {}

  /**
   * Cheap checks come first, and the challenge is used up before the expensive one, so that each signature anyone
   * wants checked costs them a proof of work.
   * @throws Refusal of `walletProofRefusals`.
   */
  async prove(contract: ProvingContract, purpose: ChallengePurpose, answer: ChallengeAnswer): Promise<WalletAddress> {
    const wallet = parseWalletAddress(answer.walletAddress);
    if (!wallet) throw refuse(contract, 'wallet_address_invalid', {});
    const challenge = isNonce(answer.nonce) ? await this.challenges.findOpen(answer.nonce, wallet, purpose) : null;
    if (!challenge) throw refuse(contract, 'challenge_invalid', {});
    const { difficulty } = challenge.pow;
    if (!solvesProofOfWork(challenge.pow.challenge, answer.powNonce, difficulty)) throw refuse(contract, 'proof_of_work_invalid', { difficulty });
    if (!(await this.challenges.consume(challenge))) throw refuse(contract, 'challenge_invalid', {});
    const message = signInMessage({ ...challenge, publicUrl: this.platform.publicUrl });
    if (!(await verifyWalletProof(wallet, message, answer.signature))) throw refuse(contract, 'signature_invalid', {});
    return wallet;
  }
}
