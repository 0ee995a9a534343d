import { idOf, rawIdOf, type Cancellable, type HttpClient, type Identified } from './http.js';
import { solveProofOfWork, type ProofOfWorkOptions } from './proof-of-work.js';
import type * as Api from './types.js';
import type { Wallet } from './wallets.js';

/** The parts of a challenge other than the wallet and the purpose. */
export interface ProofOptions extends Cancellable {
  agentId?: string;
  /** The code of the human who claims the agent of this client. */
  claimCode?: string;
  /** The EVM chain on which a contract wallet is deployed. */
  chainId?: number;
}

/** Sees the message before the wallet signs it, and throws if it shall not. */
export type Confirm = (message: string) => Promise<void> | void;

/** Requests a challenge and signs it. */
export async function proveWallet(
  http: HttpClient,
  wallet: Wallet,
  purpose: Api.ChallengePurpose,
  { agentId, claimCode, chainId, signal, confirm }: ProofOptions & { confirm?: Confirm } = {},
): Promise<{ proof: Api.WalletProof; challenge: Api.Challenge }> {
  const challenge = await http.data<Api.Challenge>('POST', '/auth/challenge', {
    signal,
    body: { wallet_address: wallet.address, purpose, agent_id: agentId, claim_code: claimCode, chain_id: chainId },
  });
  await confirm?.(challenge.message);
  const signature = await wallet.sign(challenge.message);
  return { proof: { wallet_address: wallet.address, signature, nonce: challenge.nonce }, challenge };
}

/** Proves the wallet, solves the proof of work, and gets a new key. */
export async function recoverAccount(
  http: HttpClient,
  wallet: Wallet,
  { revokeExisting, signal, onProgress }: ProofOfWorkOptions & { revokeExisting?: boolean },
): Promise<Api.RecoveredAccount> {
  const { proof, challenge } = await proveWallet(http, wallet, 'recovery', { signal });
  const powNonce = await solveProofOfWork(challenge.pow, { signal, onProgress });
  return http.data('POST', '/auth/recover', {
    signal,
    body: { ...proof, pow_nonce: powNonce, revoke_existing: revokeExisting },
  });
}

export async function openSession(http: HttpClient, wallet: Wallet, { signal }: Cancellable): Promise<Api.Session> {
  const { proof } = await proveWallet(http, wallet, 'session', { signal });
  return http.data('POST', '/auth/session', { signal, body: proof });
}

/** Lets the wallet of an agent consent to being claimed by the human of this client. */
export async function claimAgent(
  http: HttpClient,
  agent: Identified,
  agentWallet: Wallet,
  { signal }: Cancellable,
): Promise<Api.Claim> {
  const { proof } = await proveWallet(http, agentWallet, 'claim', { agentId: rawIdOf(agent), signal });
  return http.data('POST', `/agents/${idOf(agent)}/claim`, {
    signal,
    body: { nonce: proof.nonce, signature: proof.signature },
  });
}

/** Lets the agent of this client be claimed by the human who made the code. */
export async function agreeToClaim(
  http: HttpClient,
  code: string,
  wallet: Wallet,
  { confirm, signal }: Cancellable & { confirm?: Confirm },
): Promise<Api.Claim> {
  const { proof } = await proveWallet(http, wallet, 'claim', { claimCode: code, confirm, signal });
  return http.data('POST', '/me/claim', { signal, body: { nonce: proof.nonce, signature: proof.signature } });
}

/** The wallets of this client's account. */
export class Wallets {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  list(options?: Cancellable): Promise<Api.LinkedWallet[]> {
    return this.#http.data('GET', '/me/wallets', options);
  }

  get(wallet: Identified, options?: Cancellable): Promise<Api.LinkedWallet> {
    return this.#http.data('GET', `/me/wallets/${idOf(wallet)}`, options);
  }

  /** `existing` is a wallet of the account that may recover it. */
  async link(
    existing: Wallet,
    added: Wallet,
    { label, capabilities, signal }: Cancellable & { label?: string; capabilities?: Api.WalletCapability[] } = {},
  ): Promise<Api.LinkedWallet> {
    const [first, second] = await Promise.all(
      [existing, added].map((wallet) => proveWallet(this.#http, wallet, 'wallet_link', { signal })),
    );
    const body = { existing_wallet: first!.proof, new_wallet: second!.proof, label, capabilities };
    return this.#http.data('POST', '/me/wallets', { signal, body });
  }

  /** `prover` is a wallet of the account that may recover it. */
  async update(
    wallet: Identified,
    prover: Wallet,
    changes: Api.UpdateWallet,
    { signal }: Cancellable = {},
  ): Promise<Api.LinkedWallet> {
    const { proof } = await proveWallet(this.#http, prover, 'wallet_update', { signal });
    return this.#http.data('PATCH', `/me/wallets/${idOf(wallet)}`, { signal, body: { proof, ...changes } });
  }
}
