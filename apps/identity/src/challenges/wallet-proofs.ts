import type { RequestContract } from '@market/contracts';
import type {
  ChallengePurpose,
  walletProof,
  walletProofRefusals,
  workProof,
  workProofRefusals,
} from '@market/contracts/identity';
import { solvesProofOfWork } from '@market/kernel';
import { refuse } from '@market/messaging';
import { platformConfig } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';
import { ChainUnreachableError, ContractWallets } from '../wallets/contract-wallets.js';
import { parseWalletAddress, type WalletAddress } from '../wallets/wallet-address.js';
import { verifyWalletProof } from '../wallets/wallet-proof.js';
import { isNonce, type Challenge } from './challenge.js';
import { ChallengesRepository, type Consumed } from './challenges.repository.js';
import { chainIdOf, signInMessage } from './sign-in-message.js';

type Proof = z.output<typeof walletProof>;
type ProvingContract = RequestContract<z.ZodType, z.ZodType, typeof walletProofRefusals>;
type WorkProvingContract = RequestContract<z.ZodType, z.ZodType, typeof workProofRefusals>;
/** For operations in which the challenge names the wallet. */
type VerifyingContract = RequestContract<
  z.ZodType,
  z.ZodType,
  Omit<typeof walletProofRefusals, 'wallet_address_invalid'>
>;

/** A solved proof of work, as in events. */
export interface SolvedWork {
  difficulty: number;
  /** The time from the creation of the challenge to its use, by PostgreSQL's clock. */
  solveMs: number;
  solvedAt: string;
}

/** Verifies answers to challenges. A valid answer proves that its sender holds the wallet. */
@Injectable()
export class WalletProofs {
  constructor(
    private readonly challenges: ChallengesRepository,
    private readonly contractWallets: ContractWallets,
    @Inject(platformConfig.token) private readonly platform: { publicUrl: string },
  ) {}

  /** @throws Refusal of `walletProofRefusals`. */
  async prove(contract: ProvingContract, purpose: ChallengePurpose, proof: Proof): Promise<Challenge> {
    const challenge = await this.find(contract, purpose, proof);
    await this.consumeAndVerify(contract, challenge, proof.signature);
    return challenge;
  }

  /** Like `prove`, for operations of an account: a challenge that names an account is valid only for that account. */
  async proveFor(
    accountId: string,
    contract: ProvingContract,
    purpose: ChallengePurpose,
    proof: Proof,
  ): Promise<Challenge> {
    const challenge = await this.find(contract, purpose, proof);
    if (challenge.agentId !== null && challenge.agentId !== accountId)
      throw refuse(contract, 'challenge_invalid', { wallet_address: challenge.wallet.address });
    await this.consumeAndVerify(contract, challenge, proof.signature);
    return challenge;
  }

  /**
   * Like `prove`, for callers without an account. Cheap checks come first, and the challenge is consumed before the
   * signature is checked, so that every check costs the caller a proof of work.
   * @throws Refusal of `workProofRefusals`.
   */
  async proveWithWork(
    contract: WorkProvingContract,
    purpose: ChallengePurpose,
    proof: z.output<typeof workProof>,
  ): Promise<{ wallet: WalletAddress; work: SolvedWork }> {
    const challenge = await this.find(contract, purpose, proof);
    const { difficulty } = challenge.pow;
    if (!solvesProofOfWork(challenge.pow.challenge, proof.pow_nonce, difficulty))
      throw refuse(contract, 'proof_of_work_invalid', { difficulty });
    const { solveMs, solvedAt } = await this.consumeAndVerify(contract, challenge, proof.signature);
    return { wallet: challenge.wallet, work: { difficulty, solveMs, solvedAt: solvedAt.toISOString() } };
  }

  /** Returns the open claim challenge with this nonce. @throws Refusal `challenge_invalid`. */
  async findClaim(contract: VerifyingContract, nonce: string): Promise<Challenge> {
    const challenge = isNonce(nonce) ? await this.challenges.findOpenClaim(nonce) : null;
    if (!challenge) throw refuse(contract, 'challenge_invalid', {});
    return challenge;
  }

  /** Consumes the challenge, then verifies the signature. @throws Refusal of `walletProofRefusals`. */
  async consumeAndVerify(contract: VerifyingContract, challenge: Challenge, signature: string): Promise<Consumed> {
    const { wallet } = challenge;
    const consumed = await this.challenges.consume(challenge);
    if (!consumed) throw refuse(contract, 'challenge_invalid', { wallet_address: wallet.address });
    if (!(await this.isSigned(contract, challenge, signature)))
      throw refuse(contract, 'signature_invalid', { wallet_address: wallet.address });
    return consumed;
  }

  private async find(contract: ProvingContract, purpose: ChallengePurpose, proof: Proof): Promise<Challenge> {
    const wallet = parseWalletAddress(proof.wallet_address);
    if (!wallet) throw refuse(contract, 'wallet_address_invalid', {});
    const challenge = isNonce(proof.nonce) ? await this.challenges.findOpen(proof.nonce, wallet, purpose) : null;
    if (!challenge) throw refuse(contract, 'challenge_invalid', { wallet_address: wallet.address });
    return challenge;
  }

  /** Verifies a signature by the wallet's own private key locally, and only otherwise asks the chain. */
  private async isSigned(contract: VerifyingContract, challenge: Challenge, signature: string): Promise<boolean> {
    const { wallet } = challenge;
    const message = signInMessage({ ...challenge, publicUrl: this.platform.publicUrl });
    if (await verifyWalletProof(wallet, message, signature)) return true;
    if (wallet.chainType !== 'evm') return false;
    return this.contractWallets
      .verify(chainIdOf(challenge), wallet.address, message, signature)
      .catch((error: unknown) => {
        throw error instanceof ChainUnreachableError
          ? refuse(contract, 'contract_wallet_unverifiable', { retry_after_seconds: 5 })
          : error;
      });
  }
}
