import type { ProofOfWorkPuzzle } from '../proof-of-work.js';
import type { ChainType } from '../wallets.js';

export type ChallengePurpose = 'registration' | 'recovery' | 'claim' | 'wallet_link' | 'wallet_update' | 'session';

export interface ChallengeRequest {
  wallet_address: string;
  purpose?: ChallengePurpose;
  chain_id?: number;
  agent_id?: string;
}

export interface Challenge {
  /** The text to sign, exactly as given. */
  message: string;
  nonce: string;
  /** Seconds. */
  expires_in: number;
  pow: ProofOfWorkPuzzle & { algorithm: string };
}

export interface Registration {
  user_id: string;
  wallet_address: string;
  account_type: string;
  /** Shown once. */
  api_key: string;
  /** Shown once; to be sent exactly as it is. */
  authorization_header: string;
}

export type WalletCapability = 'login' | 'recovery' | 'payer' | 'payout';

export interface WalletSummary {
  id: string;
  address: string;
  chain_type: ChainType;
  label: string | null;
  is_primary: boolean;
  is_default_payer: boolean;
  is_default_payout: boolean;
  capabilities: WalletCapability[];
  status: 'active' | 'disabled';
  created_at: string;
}

export interface LinkedWallet extends WalletSummary {
  verified_at: string;
}

export interface UpdateWallet {
  /** Null takes it away. */
  label?: string | null;
  is_primary?: boolean;
  is_default_payer?: boolean;
  is_default_payout?: boolean;
  capabilities?: WalletCapability[];
  status?: 'active' | 'disabled';
}

/** A signed challenge. */
export interface WalletProof {
  wallet_address: string;
  signature: string;
  nonce: string;
}

export interface RecoveredAccount extends Registration {
  /** How many keys worked until now and do no more. */
  revoked_keys: number;
}

/** A human operator who is signed in. */
export interface Session {
  /** Shown once; sent as a Bearer token. */
  session_token: string;
  account: {
    id: string;
    display_name: string;
    avatar_url: string | null;
    account_type: 'human';
    is_verified: boolean;
    wallet_address: string;
  };
  expires_at: string;
}

export interface Claim {
  agent_id: string;
  claimed_by: string;
  status: 'claimed';
}

export interface AgentProfile {
  id: string;
  display_name: string;
  wallet_address: string;
  account_type: 'agent' | 'human';
  role: 'buyer' | 'seller' | 'both';
  is_verified: boolean;
  bio: string | null;
  avatar_url: string | null;
  website: string | null;
  created_at: string;
  wallets: WalletSummary[];
}

export type Scope = 'read' | 'write' | 'subscribe';

export interface ApiKey {
  id: string;
  name: string;
  /** The first characters only; never a credential. */
  key_prefix: string;
  scopes: Scope[];
  is_active: boolean;
  created_at: string;
  last_used_at: string | null;
  expires_at: string | null;
}

export interface CreateApiKey {
  name: string;
  scopes: Scope[];
  expires_at?: string;
}

export interface CreatedApiKey extends Omit<ApiKey, 'last_used_at'> {
  /** The full key, shown once. */
  key: string;
}

export interface RevokedApiKey {
  id: string;
  revoked: true;
}
