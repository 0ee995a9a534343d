import type { beginOidcSignIn, openOidcSession } from '@market/contracts/identity';
import { refuse } from '@market/messaging';
import type { FieldCipher } from '@market/persistence';
import { OidcUnavailable, type PendingSignIn } from './oidc-provider.js';

/** How long a person may take to sign in at the provider. */
export const SIGN_IN_SECONDS = 600;
const RETRY_AFTER_SECONDS = 5;
const PURPOSE = 'oidc_sign_in';

export interface OidcSignIn extends PendingSignIn {
  /** The human who adds the login to its account; null opens a session of the human who has it. */
  linkTo: string | null;
}

export function sealSignIn(cipher: FieldCipher, signIn: OidcSignIn): string {
  const expiresAt = Date.now() + SIGN_IN_SECONDS * 1_000;
  return cipher.encrypt(JSON.stringify({ ...signIn, expiresAt }), PURPOSE).toString('base64url');
}

/** Returns null if the text is expired or not from here. */
export function openSealedSignIn(cipher: FieldCipher, sealed: string): OidcSignIn | null {
  try {
    const signIn = JSON.parse(cipher.decrypt(Buffer.from(sealed, 'base64url'), PURPOSE)) as OidcSignIn & {
      expiresAt: number;
    };
    return signIn.expiresAt > Date.now() ? signIn : null;
  } catch {
    return null;
  }
}

/** Refuses a request for which the provider was needed. */
export const oidcUnavailable =
  (contract: typeof beginOidcSignIn | typeof openOidcSession) =>
  (error: unknown): never => {
    if (!(error instanceof OidcUnavailable)) throw error;
    throw refuse(contract, 'oidc_unavailable', { retry_after_seconds: RETRY_AFTER_SECONDS });
  };
